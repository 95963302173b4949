import assert from "node:assert/strict";
import { test } from "node:test";

import { firstOf, fitsAtCursor, piecesOf } from "../src/places/suggested";

const at = (line: number, character: number) => ({ line, character });
const edit = (insertText: string, line: number, character: number, endLine: number, endCharacter: number) => ({
  insertText,
  range: { start: at(line, character), end: at(endLine, endCharacter) },
});

test("what only adds at the cursor is VS Code's own ghost text", () => {
  assert.ok(fitsAtCursor(edit("a + b", 1, 11, 1, 11), "", at(1, 11)));
  assert.ok(fitsAtCursor(edit("a +\nb", 1, 11, 1, 11), "", at(1, 11)));
  assert.ok(fitsAtCursor(edit("print(x)", 1, 0, 1, 4), "prx)", at(1, 2)));
});

test("what takes something away, or lies elsewhere, is not", () => {
  assert.ok(!fitsAtCursor(edit("total", 4, 6, 4, 9), "add", at(4, 9)));
  assert.ok(!fitsAtCursor(edit("a + b", 1, 11, 1, 11), "", at(2, 11)));
  assert.ok(!fitsAtCursor(edit("a + b", 1, 11, 1, 11), "", at(1, 3)));
  assert.ok(!fitsAtCursor(edit("", 1, 0, 1, 3), "abc", at(1, 3)));
  assert.ok(!fitsAtCursor(edit("x", 1, 0, 2, 0), "y\n", at(1, 0)));
});

test("a word is drawn as gone, with the new one behind it", () => {
  assert.deepEqual(piecesOf(edit("total", 4, 6, 4, 9), "add"), [{ range: { start: at(4, 6), end: at(4, 9) }, added: "total" }]);
});

test("of several lines each has the new one behind it, and what more there is stands behind the last", () => {
  assert.deepEqual(piecesOf(edit("two\n  same\nTHREE\nfour", 1, 2, 3, 5), "one\n  same\nthree"), [
    { range: { start: at(1, 2), end: at(1, 5) }, added: "two" },
    { range: { start: at(3, 0), end: at(3, 5) }, added: "THREE↵four" },
  ]);
});

test("lines that go are drawn without anything behind them", () => {
  assert.deepEqual(piecesOf(edit("", 2, 0, 4, 0), "one\r\ntwo\r\n"), [
    { range: { start: at(2, 0), end: at(2, 3) }, added: "" },
    { range: { start: at(3, 0), end: at(3, 3) }, added: "" },
  ]);
  assert.deepEqual(piecesOf(edit("\nnew", 2, 5, 2, 5), ""), [{ range: { start: at(2, 5), end: at(2, 5) }, added: "↵new" }]);
});

test("an answer that is none proposes nothing", () => {
  for (const answer of [null, undefined, 1, {}, { items: [] }, { items: [{}] }, { items: [{ insertText: "x" }] }, { items: [{ insertText: "x", range: { start: {}, end: {} } }] }]) {
    assert.equal(firstOf(answer), undefined);
  }
  const one = edit("x", 0, 0, 0, 1);
  assert.deepEqual(firstOf({ items: [one] }), one);
});
