import assert from "node:assert/strict";
import { test } from "node:test";

import { window } from "./support/vscode";
import { type Imported, importLog } from "../src/chat/importing";

const DONE: Imported = { sessionId: "aa11", messages: 2, leftOut: 0, warnings: [] };

/** A user who chooses this file and answers so, and a server that refuses a damaged log. */
function world(file: string | undefined, answer: string | undefined, data: unknown, leftOut = 3) {
  const asked: object[] = [];
  const told: string[] = [];
  Object.assign(window, {
    showOpenDialog: async () => (file === undefined ? undefined : [{ fsPath: file }]),
    showWarningMessage: async (text: string) => (told.push(text), answer),
  });
  const ask = async (_: string, params: object): Promise<Imported> => {
    asked.push(params);
    if (data !== undefined && !("salvage" in params)) throw Object.assign(new Error("damaged"), { data });
    return "salvage" in params ? { ...DONE, leftOut } : DONE;
  };
  return { ask, asked, told };
}

test("a chosen log is imported", async () => {
  const { ask, asked, told } = world("/a.jsonl", undefined, undefined);
  assert.equal(await importLog(ask), "aa11");
  assert.deepEqual(asked, [{ path: "/a.jsonl", cwd: "" }]);
  assert.deepEqual(told, []);
  assert.equal(await importLog(world(undefined, undefined, undefined).ask), undefined);
});

test("what can be read of a damaged one is copied if the user wants that", async () => {
  const damaged = { canBeSalvaged: true };
  const yes = world("/a.jsonl", "Copy What Can Be Read", damaged);
  assert.equal(await importLog(yes.ask), "aa11");
  assert.deepEqual(yes.told, ["damaged", "North: 3 lines could not be read."]);
  const one = world("/a.jsonl", "Copy What Can Be Read", damaged, 1);
  assert.equal(await importLog(one.ask), "aa11");
  assert.deepEqual(one.told, ["damaged", "North: One line could not be read."]);
  const no = world("/a.jsonl", undefined, damaged);
  assert.equal(await importLog(no.ask), undefined);
  assert.equal(no.asked.length, 1);
  await assert.rejects(importLog(world("/a.jsonl", undefined, {}).ask), /damaged/);
});
