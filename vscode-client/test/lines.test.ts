import assert from "node:assert/strict";
import { test } from "node:test";

import { matchLines } from "../src/review/lines";

test("lines that are in both texts are paired in order", () => {
  assert.deepEqual([...matchLines(["a\n", "b\n", "c\n"], ["a\n", "x\n", "c\n"])], [0, -1, 2]);
});

test("the end of a line does not count", () => {
  assert.deepEqual([...matchLines(["a\r\n", "b"], ["a\n", "b\n"])], [0, 1]);
});

test("texts without anything in common have no pairs", () => {
  assert.deepEqual([...matchLines(["a", "b"], ["c"])], [-1, -1]);
});
