import assert from "node:assert/strict";
import { test } from "node:test";

import type { Transcript } from "../src/chat/transcript";
import { fieldsOf, inWords, misfit } from "../src/forms";
import type { Item } from "../src/messages";
import { ask, fill } from "../src/review/elicitation";
import { type OpenQuestion, Questions } from "../src/review/questions";
import { env, EventEmitter } from "./support/vscode";

const SCHEMA = {
  type: "object",
  properties: {
    size: { type: "string", title: "Which size?", oneOf: [{ const: "s", title: "Small" }, { const: "l", title: "Large" }], default: "l" },
    parts: { type: "array", title: "Which parts?", items: { anyOf: [{ const: "a", title: "First" }, { const: "b", title: "Second" }] } },
    count: { type: "integer", title: "How many?", minimum: 1, maximum: 9 },
    share: { type: "number", title: "Which share?" },
    tests: { type: "boolean", title: "With tests" },
    word: { type: "string", title: "In your words", maxLength: 3 },
    plain: { type: "string", enum: ["one", "two"] },
  },
  required: ["size", "count"],
};

const fields = fieldsOf(SCHEMA) ?? [];

test("a schema's fields are read, each as what it is", () => {
  assert.deepEqual(fields.map(({ key, kind, required, title }) => [key, kind, required, title]), [
    ["size", "choice", true, "Which size?"],
    ["parts", "choice", false, "Which parts?"],
    ["count", "number", true, "How many?"],
    ["share", "number", false, "Which share?"],
    ["tests", "switch", false, "With tests"],
    ["word", "text", false, "In your words"],
    ["plain", "choice", false, "plain"],
  ]);
});

test("a field that nobody knows is left out, and without a required one there is no form", () => {
  const schema = { properties: { odd: { type: "object" }, word: { type: "string" } } };
  assert.deepEqual(fieldsOf(schema)?.map(({ key }) => key), ["word"]);
  assert.equal(fieldsOf({ ...schema, required: ["odd"] }), undefined);
});

test("values that do not fit are named with their field", () => {
  const good = { size: "s", count: 3 };
  assert.equal(misfit(fields, good), undefined);
  assert.equal(misfit(fields, { ...good, parts: ["a", "b"], share: 0.5, tests: false, word: "äöü", plain: "two" }), undefined);
  for (const [wrong, key, why] of [
    [{ size: "s" }, "count", "missing"],
    [{ ...good, size: "x" }, "size", "unknown"],
    [{ ...good, parts: "a" }, "parts", "unknown"],
    [{ ...good, parts: ["c"] }, "parts", "unknown"],
    [{ ...good, count: 1.5 }, "count", "number"],
    [{ ...good, count: Number.NaN }, "count", "number"],
    [{ ...good, count: 10 }, "count", "range"],
    [{ ...good, tests: "yes" }, "tests", "unknown"],
    [{ ...good, word: "four" }, "word", "long"],
    [{ ...good, more: "x" }, "more", "unknown"],
  ] as const) {
    assert.deepEqual(misfit(fields, wrong as never), { key, why });
  }
});

test("values are said with the names that were shown", () => {
  assert.equal(inWords(fields, { size: "s", parts: ["a", "b"], count: 2, tests: true, word: "so" }), "Small; First, Second; 2; With tests; so");
  assert.equal(inWords(fields, { size: "l", count: 1, tests: false }), "Large; 1");
});

const never = { isCancellationRequested: false, onCancellationRequested: () => ({ dispose() {} }) };

function world() {
  const rows = new Map<string, Item>();
  const transcript = { put: (item: Item) => rows.set(item.id, item), get: (id: string) => rows.get(id) } as unknown as Transcript;
  const questions = new Questions((id) => (id === "s" ? transcript : undefined));
  const open = (): OpenQuestion => {
    const [question] = questions.open;
    assert.ok(question);
    return question;
  };
  return { questions, rows, open };
}

const FORM = { mode: "form", sessionId: "s", message: "Two things.\n\nBefore I begin.", requestedSchema: SCHEMA };

test("a form is a question of its conversation, and is answered with what was filled in", async () => {
  const { questions, rows, open } = world();
  const answer = ask(FORM, questions, never as never);
  const [row] = rows.values();
  assert.ok(row !== undefined && "options" in row);
  assert.equal(row.heading, "North asks: Two things.");
  assert.equal(row.markdown, "Before I begin.");
  assert.equal(row.fields?.length, fields.length);
  fill(questions, open(), { size: "x", count: 1 }); // it does not fit: nothing is answered
  assert.equal(questions.open.length, 1);
  fill(questions, open(), { size: "s", count: 1 });
  assert.deepEqual(await answer, { action: "accept", content: { size: "s", count: 1 } });
  assert.equal((rows.get(row.id) as { decision?: string }).decision, "Small; 1");
});

test("a form that is closed is declined, and one that the server takes back stays without an answer", async () => {
  const { questions, open } = world();
  const closed = ask(FORM, questions, never as never);
  questions.choose(open(), "decline");
  assert.deepEqual(await closed, { action: "decline" });
  const back = new EventEmitter<void>();
  const taken = ask(FORM, questions, { isCancellationRequested: false, onCancellationRequested: back.event } as never);
  back.fire();
  assert.deepEqual(await taken, { action: "cancel" });
  assert.equal(questions.open.length, 0);
});

test("what cannot be shown is not asked", async () => {
  const { questions } = world();
  for (const odd of [undefined, {}, { ...FORM, sessionId: "other" }, { ...FORM, mode: "riddle" }, { ...FORM, requestedSchema: { properties: { a: {} }, required: ["a"] } }]) {
    assert.deepEqual(await ask(odd, questions, never as never), { action: "cancel" });
  }
  for (const url of [undefined, "javascript:alert(1)", "file:///etc/passwd", "command:quit", "nowhere"]) {
    assert.deepEqual(await ask({ mode: "url", sessionId: "s", message: "Sign in", url }, questions, never as never), { action: "cancel" });
  }
  assert.equal(questions.open.length, 0);
});

test("a page is opened at exactly its address once the user says so, and not without", async () => {
  const url = "https://sign.example/in?redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fback&state=a%2Bb";
  const opened: unknown[] = [];
  let lets = true;
  Object.assign(env, { openExternal: async (address: unknown) => (opened.push(address), lets) });
  const { questions, rows, open } = world();
  const page = { mode: "url", sessionId: "s", elicitationId: "e", message: "Sign in to a server", url };
  const answer = ask(page, questions, never as never);
  const [row] = rows.values();
  assert.ok(row !== undefined && "options" in row);
  assert.match(row.markdown, /sign\.example/);
  assert.deepEqual(opened, []);
  fill(questions, open(), {});
  assert.deepEqual(await answer, { action: "accept" });
  assert.deepEqual(opened, [url]);
  lets = false; // VS Code has asked as well, and the user did not want it
  const second = ask(page, questions, never as never);
  fill(questions, open(), {});
  assert.deepEqual(await second, { action: "decline" });
  const third = ask(page, questions, never as never);
  questions.choose(open(), "decline");
  assert.deepEqual(await third, { action: "decline" });
  assert.equal(opened.length, 2);
});
