import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { afterEach, mock, test } from "node:test";
import type { LanguageClient } from "vscode-languageclient/node";

import { HiddenDocuments } from "../src/places/hiddenDocuments";
import { LanguageFeatures } from "../src/places/language";
import { answers, disk, problems, tell, Uri, window, workspace } from "./support/vscode";

const FILE = "file:///repo/a.rs";
const SCRIPT = "file:///repo/c.ts";
const OTHER = "file:///repo/b.py";
const FORMAT = "vscode.executeFormatDocumentProvider";
const never = { isCancellationRequested: false, onCancellationRequested: () => ({ dispose: () => {} }) };
const wrong = { range: { start: { line: 1, character: 2 }, end: { line: 1, character: 5 } }, severity: 0, message: "wrong" };

type Ask = (params: object, token: typeof never) => Promise<Record<string, unknown>>;

/** What the server asks, answered by the extension. */
function ask(params: object, features = new LanguageFeatures(new HiddenDocuments())): Promise<Record<string, unknown>> {
  let handler: Ask | undefined;
  const client = { onRequest: (_method: string, given: Ask) => (handler = given) };
  features.listen(client as unknown as LanguageClient);
  assert.ok(handler);
  return handler(params, never);
}

function open(...addresses: string[]): void {
  workspace.textDocuments = addresses.map((address) => ({ uri: Uri.parse(address), version: 1, getText: () => "a=1\r\n" }));
}

afterEach(() => {
  mock.timers.reset();
  problems.clear();
  disk.clear();
  window.visibleTextEditors = [];
  delete answers[FORMAT];
  delete answers["typescript.tsserverRequest"];
  open();
});

test("a file that is not open is opened, without being shown, and its problems are waited for", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  disk.set(FILE, "a=1\n");
  const answer = ask({ action: "diagnostics", uris: [FILE], wait: true });
  await new Promise(setImmediate);
  assert.deepEqual(workspace.textDocuments.map(({ uri }) => uri.toString()), [FILE]);
  problems.set(FILE, [wrong]);
  tell(FILE);
  mock.timers.tick(1_000);
  const { diagnostics, known } = await answer;
  assert.equal((diagnostics as unknown[]).length, 1);
  assert.deepEqual(known, [FILE]);
});

test("of a file that nobody says anything about nothing is known, and files of its kind are waited for twice only", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const features = new LanguageFeatures(new HiddenDocuments());
  for (const wait of [true, true, false]) {
    disk.set(OTHER, "x\n");
    const answer = ask({ action: "diagnostics", uris: [OTHER], wait: true }, features);
    await new Promise(setImmediate);
    if (wait) mock.timers.tick(4_000);
    assert.deepEqual((await answer).known, []);
  }
});

test("a file that is no text has no problems, and is waited for no longer than others", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const answer = ask({ action: "diagnostics", uris: [FILE], wait: true });
  await new Promise(setImmediate);
  mock.timers.tick(4_000);
  assert.deepEqual(await answer, { diagnostics: [], known: [] });
});

test("TypeScript, which says nothing about files that are in no tab, is asked about them", async () => {
  const features = new LanguageFeatures(new HiddenDocuments());
  disk.set(SCRIPT, "x\n");
  const row = { start: { line: 2, offset: 3 }, end: { line: 2, offset: 9 }, text: "not a number", category: "error", code: 2322 };
  answers["typescript.tsserverRequest"] = (request) => ({ body: request === "semanticDiagnosticsSync" ? [row, { text: 3 }] : [] });
  const told = { uri: SCRIPT, range: { start: { line: 1, character: 2 }, end: { line: 1, character: 8 } }, severity: "error", message: "not a number", source: "ts", code: "2322" };
  assert.deepEqual(await ask({ action: "diagnostics", uris: [SCRIPT], wait: true }, features), { diagnostics: [told], known: [SCRIPT] });
  answers["typescript.tsserverRequest"] = () => ({ body: [] });
  assert.deepEqual(await ask({ action: "diagnostics", uris: [SCRIPT], wait: true }, features), { diagnostics: [], known: [SCRIPT] });
  answers["typescript.tsserverRequest"] = () => undefined;
  assert.deepEqual(await ask({ action: "diagnostics", uris: [SCRIPT], wait: true }, features), { diagnostics: [], known: [] });
});

test("nothing is opened where nothing has changed", async () => {
  problems.set(FILE, [wrong]);
  const { diagnostics, known } = await ask({ action: "diagnostics", uris: [FILE, OTHER] });
  assert.equal((diagnostics as unknown[]).length, 1);
  assert.deepEqual(known, [FILE]);
  assert.deepEqual(workspace.textDocuments, []);
});

test("problems of a file that is open are waited for, until it is quiet", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  open(FILE);
  let answered = false;
  const answer = ask({ action: "diagnostics", uris: [FILE], wait: true }).finally(() => (answered = true));
  problems.set(FILE, [wrong]);
  tell(FILE);
  await new Promise(setImmediate);
  assert.equal(answered, false);
  mock.timers.tick(300);
  assert.deepEqual((await answer).known, [FILE]);
  assert.equal(((await answer).diagnostics as unknown[]).length, 1);
});

test("a file is formatted as its editor is set up, and the answer says which text that was", async () => {
  open(FILE);
  const [document] = workspace.textDocuments;
  const range = { start: { line: 0, character: 1, more: 1 }, end: { line: 0, character: 1 } };
  const asked: unknown[] = [];
  answers[FORMAT] = (_uri, options) => {
    asked.push(options);
    return [{ range, newText: " " }];
  };
  const answer = await ask({ action: "format", uri: FILE });
  assert.deepEqual(answer.edits, [{ range: { start: { line: 0, character: 1 }, end: { line: 0, character: 1 } }, newText: " " }]);
  assert.equal(answer.sha256, createHash("sha256").update("a=1\n").digest("hex"));
  window.visibleTextEditors = [{ document, options: { tabSize: 8, insertSpaces: false } }];
  await ask({ action: "format", uri: FILE });
  assert.deepEqual(asked, [
    { tabSize: 4, insertSpaces: true },
    { tabSize: 8, insertSpaces: false },
  ]);
});

test("without a formatter nothing comes back, and a text that changed meanwhile is refused", async () => {
  open(FILE);
  assert.deepEqual((await ask({ action: "format", uri: FILE })).edits, []);
  answers[FORMAT] = () => {
    for (const document of workspace.textDocuments) document.version = 2;
    return [];
  };
  await assert.rejects(ask({ action: "format", uri: FILE }), /has changed while it was formatted/);
});
