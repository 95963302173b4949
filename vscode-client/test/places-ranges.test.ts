import assert from "node:assert/strict";
import { test } from "node:test";

import { around, fragmentOf, linesOf, nameOf } from "../src/places/ranges";

const at = (line: number, character: number) => ({ line, character });

test("a selection that ends at the start of a line does not touch that line", () => {
  assert.deepEqual(linesOf({ start: at(8, 0), end: at(10, 0) }), { first: 8, last: 9 });
  assert.deepEqual(linesOf({ start: at(8, 0), end: at(10, 1) }), { first: 8, last: 10 });
  assert.deepEqual(linesOf({ start: at(8, 0), end: at(8, 0) }), { first: 8, last: 8 });
});

test("lines around a place stay within the text", () => {
  assert.deepEqual(around({ first: 1, last: 2 }, 10, 5), { first: 0, last: 4 });
  assert.deepEqual(around({ first: 20, last: 20 }, 10, 100), { first: 10, last: 30 });
});

test("lines are named from 1", () => {
  assert.equal(nameOf("a.py", { first: 8, last: 9 }), "a.py:9-10");
  assert.equal(nameOf("a.py", { first: 8, last: 8 }), "a.py:9");
  assert.equal(fragmentOf({ first: 8, last: 9 }), "L9-L10");
});
