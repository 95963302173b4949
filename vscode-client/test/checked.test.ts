import assert from "node:assert/strict";
import { test } from "node:test";

import { fromPage } from "../src/checked";

test("what the page sends is taken as it is", () => {
  for (const message of [
    { type: "ready" },
    { type: "send", text: "hello" },
    { type: "open", file: "/a.py", line: null },
    { type: "open", file: "/a.py", line: 3 },
    { type: "decide", id: "1", option: "accept", comment: "" },
    { type: "run", command: "north.showLog" },
    { type: "pick", picker: "model" },
    { type: "attachUris", uris: ["file:///a.py"] },
  ]) {
    assert.equal(fromPage(message), message);
  }
});

test("anything else is refused", () => {
  for (const message of [
    undefined,
    null,
    "ready",
    [],
    {},
    { type: "unknown" },
    { type: "toString" },
    { type: "__proto__" },
    { type: ["ready"] },
    { type: "send" },
    { type: "send", text: 1 },
    { type: "open", file: "/a.py", line: -1 },
    { type: "open", file: "/a.py", line: "1" },
    { type: "retry", now: "yes" },
    { type: "pick", picker: "_shell" },
    { type: "attachUris", uris: [1] },
    { type: "decide", id: "1", option: "accept" },
  ]) {
    assert.equal(fromPage(message), undefined, JSON.stringify(message));
  }
});

test("the page cannot run a command that is not on the list", () => {
  for (const command of ["workbench.action.quit", "north.accept", "north.runCommand", "", 7]) {
    assert.equal(fromPage({ type: "run", command }), undefined);
  }
});
