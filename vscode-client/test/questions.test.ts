import assert from "node:assert/strict";
import { test } from "node:test";

import type { Transcript } from "../src/chat/transcript";
import type { Item } from "../src/messages";
import { Questions } from "../src/review/questions";

const never = { onCancellationRequested: () => ({ dispose() {} }) };

/** Questions, what asks one, and the rows that are shown. */
function asking() {
  const rows: Item[] = [];
  const transcript = { put: (item: Item) => rows.push(item), get: () => undefined } as unknown as Transcript;
  const questions = new Questions(() => transcript);
  let ask: (params: unknown, token: unknown) => unknown = () => undefined;
  questions.listen({ onRequest: (_: string, handler: typeof ask) => (ask = handler) } as never);
  return { rows, questions, ask: (params: object) => ask({ sessionId: "s", options: [], ...params }, never) };
}

/** What a question says below its heading. */
function below(question: string, text: string): string {
  const { rows, ask } = asking();
  void ask({
    toolCall: { toolCallId: "c", title: question, content: [{ type: "content", content: { type: "text", text } }] },
    _meta: { north: { question: { kind: "choice", text: question } } },
  });
  const [row] = rows;
  assert.ok(row !== undefined && "options" in row);
  assert.equal(row.heading, `North asks: ${question}`);
  return row.markdown;
}

test("a question is said once: not below its heading again", () => {
  assert.equal(below("Go on?", "Go on?\n\nIt **costs** more."), "It **costs** more.");
  assert.equal(below("Go on?", "Go on?"), "");
  assert.equal(below("Go on?", "Go on? Or not."), "Go on? Or not.");
  assert.equal(below("Go on?", "Some words."), "Some words.");
});

test("an edit of several files is asked about by their number, with what stands below it", () => {
  const { rows, ask } = asking();
  const content = ["a", "b"].map((name) => ({ type: "diff", path: `/repo/${name}.py`, oldText: "", newText: "x" }));
  const question = { kind: "edit", text: "Edit a.py, b.py (+2/-0)?" };
  for (const files of [content, content.slice(1)]) void ask({ toolCall: { toolCallId: "c", title: "Edit", content: files }, _meta: { north: { question } } });
  const told = rows.map((row) => ("options" in row ? [row.heading, row.about] : []));
  assert.deepEqual(told, [["North asks to change 2 files", question.text], [`North asks to change files: ${question.text}`, undefined]]);
});

test("a window that goes away answers no question, since only the user does", async () => {
  const { questions, ask } = asking();
  let answer: unknown = "none";
  void Promise.resolve(ask({ toolCall: { toolCallId: "c", title: "Go on?" } })).then((given) => (answer = given));
  assert.equal(questions.open.length, 1);
  questions.dispose();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(answer, "none");
  assert.equal(questions.open.length, 0);
});
