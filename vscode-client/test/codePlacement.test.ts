import assert from "node:assert/strict";
import { test } from "node:test";

import { placeOf } from "../src/chat/codePlacement";

const file = [
  "import os",
  "",
  "class A:",
  "    def one(self):",
  "        return 1",
  "",
  "    def two(",
  "        self,",
  "    ):",
  "        return 2",
  "",
  "LAST = 3",
].join("\n");

test("a function takes the place of the one that it is a new version of, as deep as that stands", () => {
  const placed = placeOf("def one(self):\n    x = 1\n\n    return x\n", file);
  assert.deepEqual(placed, { start: 3, end: 5, lines: ["    def one(self):", "        x = 1", "", "        return x"] });
});

test("a head of several lines belongs to its block", () => {
  assert.deepEqual(placeOf("def two(\n    self,\n):\n    return 4", file), {
    start: 6, end: 10, lines: ["    def two(", "        self,", "    ):", "        return 4"],
  });
});

test("braces", () => {
  const script = "function a() {\n  return 1;\n}\n\nfunction b() {\n  return 2;\n}\n";
  assert.deepEqual(placeOf("function a() {\n  if (x) {\n  }\n  return 3;\n}", script)?.end, 3);
});

test("several statements stand between their first and last line", () => {
  assert.deepEqual(placeOf("import os\nimport sys\n\nLAST = 3", file), { start: 0, end: 12, lines: ["import os", "import sys", "", "LAST = 3"] });
});

test("what stands in the file twice, or not at all, says nothing", () => {
  assert.equal(placeOf("def one(self):\n  pass", `${file}\n${file}`), undefined);
  assert.equal(placeOf("def three(self):\n  pass", file), undefined);
  assert.equal(placeOf("\n", file), undefined);
  assert.equal(placeOf("}", "{\n}"), undefined);
});
