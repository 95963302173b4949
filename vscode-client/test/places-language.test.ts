import assert from "node:assert/strict";
import { afterEach, mock, test } from "node:test";
import type { LanguageClient } from "vscode-languageclient/node";

import { LanguageFeatures } from "../src/places/language";
import { problems, tell, Uri, workspace } from "./support/vscode";

const FILE = "file:///repo/a.ts";
const OTHER = "file:///repo/b.py";
const never = { isCancellationRequested: false, onCancellationRequested: () => ({ dispose: () => {} }) };
const wrong = { range: { start: { line: 1, character: 2 }, end: { line: 1, character: 5 } }, severity: 0, message: "wrong" };

type Ask = (params: object, token: typeof never) => Promise<Record<string, unknown>>;

/** What the server asks, answered by the extension. */
function ask(params: object): Promise<Record<string, unknown>> {
  let handler: Ask | undefined;
  const client = { onRequest: (_method: string, given: Ask) => (handler = given) };
  new LanguageFeatures().listen(client as unknown as LanguageClient);
  assert.ok(handler);
  return handler(params, never);
}

function open(...addresses: string[]): void {
  workspace.textDocuments = addresses.map((address) => ({ uri: Uri.parse(address) }));
}

afterEach(() => {
  mock.timers.reset();
  problems.clear();
  open();
});

test("problems of a file that is not open are answered at once: nobody says anything about it", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  problems.set(FILE, [wrong]);
  const { diagnostics, known } = await ask({ action: "diagnostics", uris: [FILE], wait: true });
  assert.equal((diagnostics as unknown[]).length, 1);
  assert.deepEqual(known, []);
});

test("problems of a file that is open are waited for, until it is quiet", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  open(FILE);
  let answered = false;
  const answer = ask({ action: "diagnostics", uris: [FILE, OTHER], wait: true }).finally(() => (answered = true));
  problems.set(FILE, [wrong]);
  tell(FILE);
  await new Promise(setImmediate);
  assert.equal(answered, false);
  mock.timers.tick(300);
  assert.deepEqual((await answer).known, [FILE]);
  assert.equal(((await answer).diagnostics as unknown[]).length, 1);
});
