import assert from "node:assert/strict";
import { test } from "node:test";

import { codeOf, fixText, type Problem, problemText, severityOf, shortened } from "../src/places/problems";

const problem = (line: number, severity: Problem["severity"], message: string): Problem => ({ line, character: 4, severity, message });

test("a problem is told on one line, with who says so", () => {
  const text = problemText({ ...problem(0, "error", "Cannot find\n  name 'x'."), source: "ts", code: "2304" });
  assert.equal(text, "line 1, column 5: error: Cannot find name 'x'. (ts 2304)");
  assert.equal(problemText(problem(1, "hint", "unused")), "line 2, column 5: hint: unused");
});

test("the worst problems come first", () => {
  const text = fixText("src/a.ts", [problem(1, "hint", "h"), problem(9, "error", "late"), problem(3, "error", "early"), problem(2, "warning", "w")]);
  assert.deepEqual(text.split("\n").slice(2), [
    "- line 4, column 5: error: early",
    "- line 10, column 5: error: late",
    "- line 3, column 5: warning: w",
    "- line 2, column 5: hint: h",
  ]);
  assert.ok(text.startsWith("Fix these problems in src/a.ts:"));
});

test("a single problem is one", () => {
  assert.ok(fixText("a.py", [problem(0, "error", "no")]).startsWith("Fix this problem in a.py:"));
});

test("of very many problems the rest is counted", () => {
  const many = Array.from({ length: 50 }, (_, line) => problem(line, "error", "no"));
  const lines = fixText("a.py", many).split("\n");
  assert.equal(lines.length, 2 + 20 + 1);
  assert.equal(lines.at(-1), "- and 30 more");
});

test("a long message is cut", () => {
  assert.ok(problemText(problem(0, "error", "x".repeat(5_000))).length < 1_100);
  assert.equal(shortened("abcdef", 4), "abc…");
  assert.equal(shortened("abcd", 4), "abcd");
});

test("codes in every shape that editors have", () => {
  assert.equal(codeOf(2304), "2304");
  assert.equal(codeOf({ value: "E501" }), "E501");
  assert.equal(codeOf(undefined), undefined);
  assert.equal(codeOf(""), undefined);
});

test("severities by number", () => {
  assert.deepEqual([0, 1, 2, 3, 9].map(severityOf), ["error", "warning", "info", "hint", "hint"]);
});
