import assert from "node:assert/strict";
import { test } from "node:test";

import { readable } from "../src/chat/readable";
import type { Item, ToolItem } from "../src/messages";

const tool: ToolItem = { kind: "tool", id: "t", title: "Reading `a.py`", does: "read", status: "completed", input: [], parts: [] };

test("who says what, one after the other", () => {
  const items: Item[] = [
    { kind: "user", id: "1", text: "Fix it", attachment: "a.py:3" },
    { kind: "thought", id: "2", markdown: "Hm." },
    { ...tool, status: "failed", parts: [{ kind: "text", text: "no such file", code: false }] },
    { kind: "plan", id: "4", entries: [{ text: "read", status: "completed" }, { text: "write", status: "in_progress" }] },
    { kind: "notice", id: "5", severity: "info", text: "Told." },
    { kind: "answer", id: "6", markdown: "Done.\n\n- one" },
    { kind: "changes", id: "7", text: "1 file changed", note: "undone", files: [], buttons: [] },
  ];
  assert.equal(
    readable(items).text,
    [
      "You:\nFix it\na.py:3", "Thoughts:\nHm.", "failed: Reading a.py:\nno such file", "Plan:\n- read (done)\n- write (running)", "Told.",
      "North:\nDone.\n\n- one", "1 file changed — undone",
    ].join("\n\n"),
  );
});

test("what an edit changed is there in lines, with what became of it", () => {
  const diff: ToolItem["parts"][number] = {
    kind: "diff", path: "/r/a.py", name: "a.py", change: "update", added: 1, removed: 1, left: 0, preview: false, hunks: [{ line: 1, lines: ["-old", "+new"] }],
  };
  assert.equal(readable([{ ...tool, title: "Edited a.py", note: "undone", parts: [diff, { kind: "terminal" }] }]).text, "done: Edited a.py (undone):\na.py\n-old\n+new");
});

test("a question with what was chosen, a failure and a wait", () => {
  const items: Item[] = [
    { kind: "command", id: "1", title: "", heading: "Run this?", markdown: "`ls`", options: [], hasDiff: false, decision: "Run" },
    { kind: "failure", id: "2", text: "refused", actions: [] },
    { kind: "retry", cause: "other", id: "3", state: "over", failures: 1, seconds: 0, reason: "busy" },
  ];
  assert.equal(
    readable(items).text,
    "Run this?\n`ls`\nYou chose: Run\n\nThe request failed:\nrefused\n\nThe model did not answer:\nbusy",
  );
});

test("the line is that of the last answer", () => {
  const items: Item[] = [
    { kind: "user", id: "1", text: "one\ntwo" },
    { kind: "answer", id: "2", markdown: "first" },
    { kind: "answer", id: "3", markdown: "second" },
    tool,
  ];
  const { text, line } = readable(items);
  assert.equal(text.split("\n").slice(line, line + 2).join("|"), "North:|second");
  const without = readable(items.slice(0, 1).concat(tool));
  assert.equal(without.text.split("\n")[without.line], "done: Reading a.py:");
  assert.deepEqual(readable([]), { text: "", line: 0 });
});
