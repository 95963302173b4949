import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, test } from "node:test";

import { handOver, takeHandedOver, watchHandedOver } from "../src/chat/otherFolder";
import { trashRow } from "../src/chat/trash";
import { env, EventEmitter, window, workspace } from "./support/vscode";

const machine = env.machineId;
const is = (here: string) => (folder: string) => folder === here;

const kept: string[] = [];
afterEach(() => kept.splice(0).forEach((folder) => rmSync(folder, { recursive: true })));

/** The extension's storage, with this handed over. */
function storage(handed?: unknown): string {
  const made = mkdtempSync(join(tmpdir(), "north-"));
  kept.push(made);
  if (handed !== undefined) writeFileSync(join(made, "handed-over.json"), JSON.stringify(handed));
  return made;
}

test("a conversation that is handed over is taken once, by the window of its folder, and not much later", () => {
  const handed = { folder: "/other", id: "aa11", at: 1000, machine };
  const shared = storage(handed);
  assert.equal(takeHandedOver(shared, "/here", 2000), undefined);
  assert.deepEqual(takeHandedOver(shared, "/other", 2000), { id: "aa11", isAgreed: false });
  assert.equal(takeHandedOver(shared, "/other", 2000), undefined);
  assert.equal(takeHandedOver(storage(handed), "/other", 1000 + 6 * 60_000), undefined);
});

test("that it goes on in the other folder was agreed to only if the window before says so", () => {
  const taken = (isAgreed: unknown): boolean | undefined => takeHandedOver(storage({ folder: "/other", id: "aa11", at: 1000, machine, isAgreed }), "/other", 2000)?.isAgreed;
  assert.deepEqual([taken(true), taken("yes"), taken(undefined)], [true, false, false]);
});

test("what is not a conversation's id is not taken", () => {
  for (const value of [undefined, null, {}, { folder: "/other" }, { folder: "/other", id: "../x", at: 1000 }, { folder: "/other", id: 1, at: 1000 }]) {
    assert.equal(takeHandedOver(storage(value), "/other", 2000), undefined);
  }
  const damaged = storage();
  writeFileSync(join(damaged, "handed-over.json"), '{"folder":');
  assert.equal(takeHandedOver(damaged, "/other", 2000), undefined);
});

test("a window that is open already takes what is handed over to it at once, whether it is at the front or not, and once", async () => {
  const state = new EventEmitter<{ focused: boolean }>();
  Object.assign(window, { onDidChangeWindowState: state.event });
  const taken: string[] = [];
  const shared = join(storage(), "not there yet");
  const here = watchHandedOver(shared, () => "/here", async ({ id }) => void taken.push(`here ${id}`));
  let told = (): void => undefined;
  const arrived = new Promise<void>((resolve) => (told = resolve));
  const watched = watchHandedOver(shared, () => "/other", async ({ id }) => (taken.push(id), told()));
  const alive = setTimeout(() => undefined, 60_000); // what watches files keeps no process
  await handOver(shared, { folder: "/other", id: "aa11", at: Date.now(), machine });
  await arrived;
  clearTimeout(alive);
  state.fire({ focused: true });
  assert.deepEqual(taken, ["aa11"]);
  watched.dispose();
  here.dispose();
});

test("where the system does not tell of files, it is taken when the window comes to the front", () => {
  const state = new EventEmitter<{ focused: boolean }>();
  Object.assign(window, { onDidChangeWindowState: state.event });
  const taken: string[] = [];
  const shared = storage();
  const watched = watchHandedOver(shared, () => "/other", async ({ id }) => void taken.push(id));
  writeFileSync(join(shared, "handed-over.json"), JSON.stringify({ folder: "/other", id: "aa11", at: Date.now(), machine }));
  state.fire({ focused: false });
  assert.deepEqual(taken, []);
  state.fire({ focused: true });
  state.fire({ focused: true });
  assert.deepEqual(taken, ["aa11"]);
  watched.dispose();
});

test("a window of another computer on the same host takes nothing", () => {
  assert.equal(takeHandedOver(storage({ folder: "/other", id: "aa11", at: 1000, machine: "another" }), "/other", 2000), undefined);
});

test("an open window takes nothing that VS Code opens another one for: by a link's name, or of several folders", async () => {
  const state = new EventEmitter<{ focused: boolean }>();
  Object.assign(window, { onDidChangeWindowState: state.event });
  const root = storage();
  mkdirSync(join(root, "real"));
  symlinkSync(join(root, "real"), join(root, "link"), "junction");
  const shared = storage();
  const taken: string[] = [];
  const watched = watchHandedOver(shared, () => join(root, "link"), async ({ id }) => void taken.push(id));
  await handOver(shared, { folder: join(root, "real"), id: "aa11", at: Date.now(), machine });
  state.fire({ focused: true });
  workspace.workspaceFile = {}; // before it is handed over: the system may tell of the file at once
  await handOver(shared, { folder: join(root, "link"), id: "bb22", at: Date.now(), machine });
  state.fire({ focused: true });
  assert.deepEqual(taken, []);
  delete workspace.workspaceFile;
  state.fire({ focused: true });
  assert.deepEqual(taken, ["bb22"]);
  watched.dispose();
});

test("what is handed over names the folder in its own way", () => {
  const root = storage();
  mkdirSync(join(root, "real"));
  symlinkSync(join(root, "real"), join(root, "link"), "junction");
  assert.equal(takeHandedOver(storage({ folder: join(root, "real"), id: "aa11", at: 1000, machine }), join(root, "link"), 2000)?.id, "aa11");
});

test("a deleted conversation has the time when it was deleted, and its folder if that is another one", () => {
  const row = { sessionId: "a", name: "Rename $(x)", deletedAt: "2026-03-10T11:00:00Z", messageCount: 4, cwd: "/other" };
  const now = new Date("2026-03-10T12:00:00Z");
  assert.equal(trashRow(row, now, is("/here")).description, "deleted 1 h ago · 4 messages · /other");
  assert.equal(trashRow(row, now, is("/other")).description, "deleted 1 h ago · 4 messages");
  assert.equal(trashRow(row, now, is("")).label, "Rename $\u200b(x)");
  assert.equal(trashRow({ sessionId: "a", name: " " }, now, is("")).label, "Untitled");
});
