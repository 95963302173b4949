import { div } from "./support/page";

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Item } from "../src/messages";
import { MOST_SAID, nameOf, shortened, wordsOf } from "../src/webview/names";
import { render } from "../src/webview/streamedMarkdown";

test("every row has a name", () => {
  const items: Item[] = [
    { kind: "user", id: "1", text: "hello" },
    { kind: "answer", id: "2", markdown: "hi" },
    { kind: "thought", id: "3", markdown: "hm" },
    { kind: "tool", id: "4", title: "Reading `a.py`", does: "read", status: "failed", input: [], parts: [] },
    { kind: "retry", cause: "network", id: "5", state: "waiting", failures: 1, seconds: 3, reason: "busy" },
    { kind: "plan", id: "6", entries: [] },
    { kind: "failure", id: "7", text: "refused", actions: [] },
    { kind: "notice", id: "8", severity: "info", text: "Stopped." },
    { kind: "changes", id: "9", text: "2 files changed", note: "", files: [], buttons: [] },
    { kind: "command", id: "10", title: "", heading: "Run this?", markdown: "", options: [], hasDiff: false },
  ];
  assert.deepEqual(items.map(nameOf), [
    "You", "North", "Thoughts", "failed: Reading a.py", "The model could not be reached", "Plan", "The request failed",
    "Stopped.", "2 files changed", "Run this?",
  ]);
});

test("words of different blocks are apart when they are read", () => {
  const place = div();
  place.append(render("One **bold** word.\n\n- a\n- b\n\n| x | y |\n|---|---|\n| 1 | 2 |\n\n```py\nf()\n```"));
  assert.equal(wordsOf(place), "One bold word.\na\nb\nx, y,\n1, 2,\npy\nf()");
});

test("what is hidden is not read, and nothing is read for ever", () => {
  const place = div();
  const hidden = div();
  hidden.textContent = "not this";
  hidden.hidden = true;
  place.append("this", hidden);
  assert.equal(wordsOf(place), "this");
  assert.equal(shortened("x".repeat(MOST_SAID + 1)), `${"x".repeat(MOST_SAID)} …`);
  assert.equal(shortened("x".repeat(MOST_SAID)).length, MOST_SAID);
});
