import assert from "node:assert/strict";
import { test } from "node:test";

import { wholeOutput } from "../src/chat/wholeOutputs";

const whole = "abcdefghij";

/** A server that gives three characters at a time. */
const read = (offset: number) => {
  const end = offset + 3;
  return Promise.resolve({ text: whole.slice(offset, end), totalCharacters: whole.length, ...(end < whole.length ? { nextOffset: end } : {}) });
};

test("a whole output comes in parts", async () => {
  assert.equal(await wholeOutput(read), whole);
});

test("one that is too long for an editor is cut, and says so", async () => {
  assert.equal(await wholeOutput(read, 5), "abcdef\n(4 more characters are not shown)\n");
});
