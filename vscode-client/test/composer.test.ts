import assert from "node:assert/strict";
import { test } from "node:test";

import { type Attachment, Attachments, kindOf, linesOf, MOST_PICTURES, placeOf, problemsText, TooManyAttachments } from "../src/composer/chips";
import { History } from "../src/webview/history";
import { fitted } from "../src/webview/pictures";

const resource = (uri: string, text = "x"): Attachment => ({ label: uri, block: { type: "resource", resource: { uri, text } } });
const picture = (data: string): Attachment => ({ label: "Picture", block: { type: "image", mimeType: "image/png", data } });
const link = (uri: string): Attachment => ({ label: uri, block: { type: "resource_link", uri, name: uri } });

test("each attachment has a kind", () => {
  assert.equal(kindOf(resource("file:///a.py#L1-L2")), "selection");
  assert.equal(kindOf(resource("problems:a.py")), "problems");
  assert.equal(kindOf(resource("terminal:bash")), "terminal");
  assert.equal(kindOf(resource("diff:git")), "diff");
  assert.equal(kindOf(link("file:///a.py")), "file");
  assert.equal(kindOf(link("file:///src/")), "folder");
  assert.equal(kindOf(picture("AA")), "picture");
});

test("attachments are kept in order, once, until they are taken", () => {
  let changes = 0;
  const attachments = new Attachments(() => (changes += 1));
  attachments.add(link("file:///a.py"));
  attachments.add(link("file:///b.py"));
  attachments.add(link("file:///a.py"));
  assert.deepEqual(attachments.chips().map(({ label, kind }) => `${kind} ${label}`), ["file file:///a.py", "file file:///b.py"]);
  attachments.remove(attachments.chips()[0]?.id ?? "");
  assert.equal(changes, 3);
  assert.deepEqual(attachments.take().map(({ label }) => label), ["file:///b.py"]);
  assert.deepEqual(attachments.chips(), []);
  assert.deepEqual(attachments.take(), []);
});

test("two selections of one file are two attachments", () => {
  const attachments = new Attachments(() => {});
  attachments.add(resource("file:///a.py#L1-L2"));
  attachments.add(resource("file:///a.py#L5-L6"));
  assert.equal(attachments.all.length, 2);
});

test("a message takes only so many pictures", () => {
  const attachments = new Attachments(() => {});
  for (let number = 0; number < MOST_PICTURES; number += 1) attachments.add(picture(String(number)));
  assert.throws(() => attachments.add(picture("one more")), TooManyAttachments);
  attachments.add(link("file:///a.py"));
  assert.equal(attachments.all.length, MOST_PICTURES + 1);
});

test("a selection that ends at the beginning of a line has nothing of that line", () => {
  assert.deepEqual(linesOf({ line: 8 }, { line: 10, character: 0 }), [9, 10]);
  assert.deepEqual(linesOf({ line: 8 }, { line: 10, character: 1 }), [9, 11]);
  assert.deepEqual(linesOf({ line: 8 }, { line: 8, character: 0 }), [9, 9]);
  assert.equal(placeOf("a.py", [9, 10]), "a.py:9-10");
  assert.equal(placeOf("a.py", [9, 9]), "a.py:9");
});

test("problems are one line each, the errors first", () => {
  const problem = { path: "a.py", line: 1, column: 2, severity: "warning" as const, message: "two\n  lines", source: "ruff F401" };
  assert.equal(
    problemsText([problem, { ...problem, severity: "error", source: "", message: "bad" }]),
    "a.py:1:2: error: bad\na.py:1:2: warning: two lines [ruff F401]",
  );
  assert.match(problemsText(Array.from({ length: 120 }, () => problem)), /… and 20 more$/);
});

test("earlier messages come back, and then what was being written", () => {
  const history = new History(["one", "two"]);
  assert.equal(history.newer("dr"), undefined);
  assert.equal(history.older("dr"), "two");
  assert.equal(history.older("two"), "one");
  assert.equal(history.older("one"), undefined);
  assert.equal(history.newer("one"), "two");
  assert.equal(history.newer("two"), "dr");
  assert.equal(history.newer("dr"), undefined);
});

test("an earlier message that was changed is a draft", () => {
  const history = new History(["one", "two"]);
  history.older("");
  assert.equal(history.older("two, changed"), "two");
  assert.equal(history.newer("two"), "two, changed");
});

test("what was being written is not lost when an earlier message is changed or sent", () => {
  const history = new History(["one", "two"]);
  history.older("draft");
  assert.equal(history.older("two, changed"), "draft");
  history.older("draft");
  history.add("two");
  assert.deepEqual(history.all(), ["one", "draft", "two, changed", "two"]);
});

test("a long draft is not lost either, a long message is in the conversation", () => {
  const history = new History(["one"]);
  const long = "long ".repeat(3_000);
  history.older(long);
  assert.deepEqual(history.all(), ["one", long]); // for a page that is made anew
  assert.equal(history.older("one, changed"), long);
  history.add(`sent ${long}`);
  assert.deepEqual(history.all(), ["one", long, "one, changed"]);
});

test("a message that is sent again stands once, as the last one", () => {
  const history = new History(["one", "two"]);
  history.add("one");
  assert.deepEqual(history.all(), ["two", "one"]);
  assert.equal(history.older(""), "one");
});

test("what other conversations were sent comes before what this page knows", () => {
  const history = new History(["one", "two"]);
  assert.equal(history.older("dr"), "two");
  history.extend(["first", "one"]);
  assert.equal(history.older("two"), "one");
  assert.equal(history.older("one"), "first");
  assert.equal(history.older("first"), undefined);
  for (const next of ["one", "two", "dr"]) assert.equal(history.newer(next === "one" ? "first" : next === "two" ? "one" : "two"), next);
});

test("pictures are scaled down to what models take, never up", () => {
  assert.deepEqual(fitted(4000, 1000), [2000, 500]);
  assert.deepEqual(fitted(10, 20), [10, 20]);
  assert.deepEqual(fitted(10_000, 1), [2000, 1]);
});
