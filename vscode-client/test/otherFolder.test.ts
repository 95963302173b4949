import assert from "node:assert/strict";
import { test } from "node:test";
import type { Memento } from "vscode";

import { takeHandedOver } from "../src/chat/otherFolder";
import { trashRow } from "../src/chat/trash";

function memory(value: unknown): Memento {
  const kept = new Map([["north.handedOver", value]]);
  const update = (key: string, to: unknown): Promise<void> => Promise.resolve(void kept.set(key, to));
  return { keys: () => [...kept.keys()], get: (key: string) => kept.get(key), update } as Memento;
}

test("a conversation that is handed over is taken once, by the window of its folder, and not much later", () => {
  const handed = { folder: "/other", id: "aa11", at: 1000 };
  const shared = memory(handed);
  assert.equal(takeHandedOver(shared, "/here", 2000), undefined);
  assert.deepEqual(takeHandedOver(shared, "/other", 2000), { id: "aa11", isAgreed: false });
  assert.equal(takeHandedOver(shared, "/other", 2000), undefined);
  assert.equal(takeHandedOver(memory(handed), "/other", 1000 + 6 * 60_000), undefined);
});

test("that it goes on in the other folder was agreed to only if the window before says so", () => {
  const taken = (isAgreed: unknown): boolean | undefined => takeHandedOver(memory({ folder: "/other", id: "aa11", at: 1000, isAgreed }), "/other", 2000)?.isAgreed;
  assert.deepEqual([taken(true), taken("yes"), taken(undefined)], [true, false, false]);
});

test("what is not a conversation's id is not taken", () => {
  for (const value of [undefined, null, {}, { folder: "/other" }, { folder: "/other", id: "../x", at: 1000 }, { folder: "/other", id: 1, at: 1000 }]) {
    assert.equal(takeHandedOver(memory(value), "/other", 2000), undefined);
  }
});

test("a deleted conversation has the time when it was deleted, and its folder if that is another one", () => {
  const row = { sessionId: "a", name: "Rename $(x)", deletedAt: "2026-03-10T11:00:00Z", messageCount: 4, cwd: "/other" };
  const now = new Date("2026-03-10T12:00:00Z");
  assert.equal(trashRow(row, now, "/here").description, "deleted 1 h ago · 4 messages · /other");
  assert.equal(trashRow(row, now, "/other").description, "deleted 1 h ago · 4 messages");
  assert.equal(trashRow(row, now, "").label, "Rename $\u200b(x)");
  assert.equal(trashRow({ sessionId: "a", name: " " }, now, "").label, "Untitled");
});
