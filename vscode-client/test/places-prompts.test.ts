import assert from "node:assert/strict";
import { test } from "node:test";

import { commitMessageOf, commitPrompt, failureText } from "../src/places/prompts";

test("a commit message is taken out of what models put around it", () => {
  assert.equal(commitMessageOf("Fix the lamp\n\nIt was broken.\n"), "Fix the lamp\n\nIt was broken.");
  assert.equal(commitMessageOf("```\nFix the lamp\n```"), "Fix the lamp");
  assert.equal(commitMessageOf("Here it is:\n\n```text\nFix the lamp\n\nWhy\n```\nDone."), "Fix the lamp\n\nWhy");
  assert.equal(commitMessageOf('"Fix the lamp"'), "Fix the lamp");
  assert.equal(commitMessageOf("`Fix` the `lamp`"), "`Fix` the `lamp`".slice(1, -1));
});

test("what the user has begun is said", () => {
  assert.ok(commitPrompt("feat: ").includes("keep to that: feat: "));
  assert.ok(!commitPrompt("").includes("has begun"));
});

test("a failure is told with what was expected, in fences that it cannot close", () => {
  const text = failureText({ name: "adds", message: "no ```\nway", expected: "2", actual: "3" });
  assert.ok(text.startsWith('The test "adds" fails.'));
  assert.ok(text.includes("````\nno ```\nway\n````"));
  assert.ok(text.endsWith("Expected:\n\n```\n2\n```\n\nActual:\n\n```\n3\n```"));
});

test("a failure without a message is only named", () => {
  assert.ok(!failureText({ name: "adds", message: "" }).includes("```"));
});
