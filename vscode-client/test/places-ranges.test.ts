import assert from "node:assert/strict";
import { test } from "node:test";

import { around } from "../src/places/ranges";

test("lines around a place stay within the text", () => {
  assert.deepEqual(around([2, 3], 10, 5), [1, 5]);
  assert.deepEqual(around([21, 21], 10, 100), [11, 31]);
  assert.deepEqual(around([1, 1], 3, 0), [1, 1]);
});
