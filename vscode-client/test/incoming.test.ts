import assert from "node:assert/strict";
import { test } from "node:test";

import { readMessage } from "../src/chat/incoming";

test("a message of the page is read", () => {
  for (const message of [
    { type: "ready", unsettled: [{ id: "1", text: "hello" }] },
    { type: "draft", text: "hel" },
    { type: "blurred" },
    { type: "send", id: "1", text: "hello" },
    { type: "open", file: "/a.py", line: null },
    { type: "pick", picker: "model" },
    { type: "code", what: "terminal", text: "ls", name: "", language: "sh" },
    { type: "code", what: "diagram", text: "graph TD", name: "", language: "mermaid" },
    { type: "work", prompt: "/work stop" },
    { type: "symbols", names: ["greet"] },
    { type: "replaced", compaction: "c1" },
    { type: "wholeOutput", artifact: "1" },
    { type: "decide", id: "question:1", option: "run", comment: "", command: "ls" },
    { type: "fill", id: "question:1", values: { name: "a", many: ["b"], count: 1, yes: true } },
    { type: "task", task: "0-find", act: "open" },
    { type: "run", command: "north.showPermissions" },
  ]) {
    assert.deepEqual(readMessage(message), message);
  }
});

test("whatever else arrives is left out", () => {
  for (const message of [
    undefined,
    null,
    "ready",
    {},
    { type: 1 },
    { type: "toString" },
    { type: "__proto__" },
    { type: "send" },
    { type: "send", text: "hello" },
    { type: "ready" },
    { type: "ready", unsettled: [1] },
    { type: "draft" },
    { type: "replaced", compaction: 1 },
    { type: "wholeOutput" },
    { type: "fill", id: "question:1" },
    { type: "fill", id: "question:1", values: ["a"] },
    { type: "fill", id: "question:1", values: { name: { nested: 1 } } },
    { type: "fill", id: "question:1", values: { many: [1] } },
    { type: "task", task: "0-find", act: "delete" },
    { type: "send", text: 1 },
    { type: "open", file: "/a.py", line: 1.5 },
    { type: "decide", id: "question:1", option: "accept" },
    { type: "decide", id: "question:1", option: "run", comment: "", command: ["ls"] },
    { type: "pick", picker: "_shell" },
    { type: "work" },
    { type: "code", what: "run", text: "ls", name: "", language: "sh" },
    { type: "symbols", names: ["greet", 1] },
    { type: "run", command: "workbench.action.quit" },
    { type: "run", command: "north.runCommand" },
  ]) {
    assert.equal(readMessage(message), undefined);
  }
});
