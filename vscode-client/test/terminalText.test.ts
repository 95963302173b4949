import assert from "node:assert/strict";
import { test } from "node:test";

import { commandsIn } from "../src/chat/terminalText";

test("what is typed into a terminal", () => {
  assert.equal(commandsIn("npm test\n"), "npm test");
  assert.equal(commandsIn("cd a\n\tls  \n"), "cd a\n\tls");
  assert.equal(commandsIn("$ npm test\nok 1\n$ npm run build\n"), "npm test\nnpm run build");
});

test("nothing is typed that would not be what is seen, or would complete a word", () => {
  for (const code of ["", "\n", "ls\u001b[A", "ls\u202e", "ls \tx", "a\u0003"]) assert.equal(commandsIn(code), undefined, JSON.stringify(code));
});
