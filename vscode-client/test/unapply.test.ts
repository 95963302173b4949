import assert from "node:assert/strict";
import { test } from "node:test";

import { unapply } from "../src/review/unapply";

test("lines that were replaced, added and removed come back", () => {
  const diff = ["--- a/f", "+++ b/f", "@@ -1,3 +1,4 @@", " one", "-old", "+new", "+more", " two", "@@ -6,2 +7,1 @@", " five", "-six", ""].join("\n");
  assert.equal(unapply("one\nnew\nmore\ntwo\nthree\nfour\nfive\n", diff), "one\nold\ntwo\nthree\nfour\nfive\nsix\n");
});

test("a file that was made was empty, and one that is gone comes back", () => {
  assert.equal(unapply("a\nb\n", "--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n"), "");
  assert.equal(unapply("", "--- a/f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n"), "a\nb\n");
});

test("a last line without an end", () => {
  const diff = "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n";
  assert.equal(unapply("b", diff), "a");
  assert.equal(unapply("b\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n"), "a");
});

test("lines that look like heads of files are lines", () => {
  assert.equal(unapply("++ b\n", "@@ -1 +1 @@\n--- a\n+++ b\n"), "-- a\n");
});

test("a diff of another text is refused", () => {
  assert.equal(unapply("a\n", "@@ -5,2 +5,2 @@\n one\n-two\n+three\n"), undefined);
  assert.equal(unapply("a\n", "@@ -1 +1,2 @@\n-a\n+b\n+c\n"), undefined);
});

test("without a diff nothing was changed", () => {
  assert.equal(unapply("a\n", ""), "a\n");
});
