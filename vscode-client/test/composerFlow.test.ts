import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import type { FromPage, ToPage } from "../src/messages";
import { Composer } from "../src/composer/composer";
import { answers, EventEmitter, openFolder, settings, settingsChanged, showEditor, Uri } from "./support/vscode";

const FILE = "file:///repo/a.py";
const TEXT = "one\ntwo\nthree\n";

/** The extension's side of the input, with a server that answers as a test says. */
function world(ask: (method: string, params: Record<string, unknown>) => unknown = () => ({})) {
  openFolder("/repo");
  const posted: ToPage[] = [];
  const conversation = { commands: [], onState: new EventEmitter<void>().event, ask: async (method: string, params: object) => ask(method, params as Record<string, unknown>) };
  const composer = new Composer(conversation as unknown as ConstructorParameters<typeof Composer>[0], (message) => posted.push(message));
  const state = () => posted.filter((message) => message.type === "composer").at(-1)?.state;
  return {
    composer,
    posted,
    tell: (message: FromPage) => composer.receive(message),
    offered: () => state()?.suggested.map(({ id, label }) => `${id} ${label}`),
    chips: () => state()?.chips.map(({ id, label }) => `${id} ${label}`),
    always(value: string) {
      settings["north.alwaysAttach"] = value;
      settingsChanged.fire({ affectsConfiguration: () => true });
    },
  };
}

const settled = () => new Promise(setImmediate);
const closed = () => {
  throw new Error("it is closed");
};

afterEach(() => {
  for (const name of Object.keys(settings)) delete settings[name];
  for (const name of Object.keys(answers)) delete answers[name];
});

test("what is selected is offered, and attached when the user wants it", async () => {
  const { composer, offered, chips, tell } = world();
  showEditor(FILE, TEXT, 0, 2);
  assert.deepEqual(offered(), ["selection a.py:1-2", "file a.py"]);
  await tell({ type: "attachSource", source: "selection" });
  assert.deepEqual([offered(), chips()], [["file a.py"], ["attachment-1 a.py:1-2"]]);
  showEditor(FILE, TEXT);
  assert.deepEqual(offered(), ["file a.py"]);
  await composer.attachShown();
  assert.deepEqual((await composer.take()).map(({ label }) => label), ["a.py:1-2", "a.py"]);
  assert.deepEqual(chips(), []);
});

test("what the user has set goes along with each message, and not with the one that he took it from", async () => {
  const { composer, always, chips, offered, tell } = world();
  showEditor(FILE, TEXT, 0, 2);
  always("selection");
  await settled();
  assert.deepEqual([chips(), offered()], [["editor a.py:1-2"], ["file a.py"]]);
  assert.deepEqual((await composer.take()).map(({ label }) => label), ["a.py:1-2"]);
  await tell({ type: "detach", id: "editor" });
  assert.deepEqual([chips(), offered()], [[], ["selection a.py:1-2", "file a.py"]]);
  assert.deepEqual(await composer.take(), []);
  assert.deepEqual((await composer.take()).map(({ label }) => label), ["a.py:1-2"]);
});

test("what is closed to North does not go along, nor what was closed in the meantime", async () => {
  let answer: () => unknown = closed;
  const asked: unknown[] = [];
  const { composer, always, chips } = world((method, params) => (asked.push([method, params.arguments]), answer()));
  showEditor(FILE, TEXT);
  always("selectionOrFile");
  await settled();
  assert.deepEqual(asked, [["_north/look", { path: "/repo/a.py", startLine: 1, endLine: 1 }]]);
  assert.deepEqual([chips(), await composer.take()], [[], []]);
  answer = () => ({});
  assert.deepEqual((await composer.take()).map(({ label }) => label), ["a.py"]);
  answer = closed;
  assert.deepEqual(await composer.take(), []);
});

test("files are offered at once, and symbols when the language servers have told them", async () => {
  const path = { path: "lamp.py", uri: "file:///repo/lamp.py", kind: "file" };
  const { posted, tell } = world(() => ({ paths: [path], isIncomplete: false }));
  answers["vscode.executeWorkspaceSymbolProvider"] = () => [
    { name: "lamp", location: { uri: Uri.parse(FILE), range: { start: { line: 2 } } } },
    { name: "lamp", location: { uri: Uri.parse("file:///elsewhere/b.py"), range: { start: { line: 0 } } } },
  ];
  await tell({ type: "complete", request: 1, query: "lamp" });
  const sent = posted.filter((message) => message.type === "paths");
  const files = [{ path: "lamp.py", kind: "file" }];
  assert.deepEqual(sent, [
    { type: "paths", request: 1, paths: files, names: [], symbols: [], isIncomplete: false },
    { type: "paths", request: 1, paths: files, names: [], symbols: [{ id: "a.py:3 lamp", name: "lamp", place: "a.py:3" }], isIncomplete: false },
  ]);
});

test("of two questions the last one is answered", async () => {
  const asked: unknown[] = [];
  const { tell } = world((_method, { query }) => (asked.push(query), { paths: [], isIncomplete: false }));
  await Promise.all([tell({ type: "complete", request: 1, query: "a" }), tell({ type: "complete", request: 2, query: "ab" })]);
  assert.deepEqual(asked, ["ab"]);
});
