import assert from "node:assert/strict";
import { test } from "node:test";

import { Proposals } from "../src/review/proposals";
import { SCHEME } from "../src/review/texts";
import type { OpenQuestion, Questions } from "../src/review/questions";
import { EventEmitter, Uri, workspace } from "./support/vscode";

/** One edit that waits; `decide` settles it. */
function world(): { questions: Questions; decide(): void; ask(): void } {
  let finish = (): void => {};
  const done = new Promise<void>((resolve) => (finish = resolve));
  const asking = new EventEmitter<OpenQuestion>();
  const question = { id: "question:1", sessionId: "s", kind: "edit", diffs: [], hunks: new Map(), options: [], done } as unknown as OpenQuestion;
  let open = [question];
  const questions = { onAsk: asking.event, of: () => open } as unknown as Questions;
  return {
    questions,
    ask: () => asking.fire(question),
    decide() {
      open = [];
      finish();
    },
  };
}

test("a decided edit leaves the list at once, however long its editors take to be saved and closed", async () => {
  const { questions, ask, decide } = world();
  const proposals = new Proposals(questions);
  ask();
  // A text that is never saved to the end.
  const uri = Uri.from({ scheme: SCHEME, path: "/a.py", query: "after&question:1" });
  workspace.textDocuments.push({ uri, version: 1, getText: () => "", isDirty: true, save: () => new Promise(() => {}) });
  const told = new Promise<number>((resolve) => proposals.onChange(() => resolve(proposals.open.length)));
  decide();
  assert.equal(await told, 0);
  workspace.textDocuments.length = 0;
});
