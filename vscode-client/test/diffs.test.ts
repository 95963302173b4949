import assert from "node:assert/strict";
import { test } from "node:test";

import { compare, shownDiff } from "../src/chat/diffs";

test("the changed lines, with what stands around them", () => {
  const before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
  assert.deepEqual(compare(before, before.replace("6", "six\nand")), {
    added: 2,
    removed: 1,
    left: 0,
    hunks: [{ line: 3, lines: [" 3", " 4", " 5", "-6", "+six", "+and", " 7", " 8", " 9"] }],
  });
});

test("changes far apart are hunks of their own", () => {
  const lines = Array.from({ length: 30 }, (_, index) => `${index}`);
  const after = lines.map((line) => (line === "2" || line === "27" ? "x" : line));
  const { hunks, added, removed } = compare(lines.join("\n"), after.join("\n"));
  assert.deepEqual([added, removed, hunks.map((hunk) => hunk.line)], [2, 2, [1, 25]]);
});

test("a new file, a file that is gone, an unchanged one", () => {
  assert.deepEqual(compare("", "a\nb\n").hunks, [{ line: 1, lines: ["+a", "+b"] }]);
  assert.deepEqual(compare("a\n", "").hunks, [{ line: 1, lines: ["-a"] }]);
  assert.deepEqual(compare("a\n", "a\n").hunks, []);
});

test("what is left out is counted", () => {
  const { hunks, left, added } = compare("", "x\n".repeat(1_000));
  assert.deepEqual([hunks[0]?.lines.length, left, added], [400, 600, 1_000]);
});

test("the parts add up to both texts, whatever was changed", () => {
  let state = 7;
  const next = (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  for (let round = 0; round < 300; round += 1) {
    const make = (): string[] => Array.from({ length: next(9) }, () => "abc"[next(3)] ?? "");
    const [before, after] = [make(), make()];
    const { hunks, added, removed } = compare(before.join("\n"), after.join("\n"));
    const lines = hunks.flatMap((hunk) => hunk.lines);
    assert.equal(lines.filter((line) => line.startsWith("+")).length, added);
    assert.equal(lines.filter((line) => line.startsWith("-")).length, removed);
    assert.equal(after.length - before.length, added - removed);
  }
});

test("a preview begins at its line", () => {
  const diff = { type: "diff" as const, path: "/r/a.py", oldText: "x\n", newText: "y\n", _meta: { north: { preview: true, line: 12 } } };
  const shown = shownDiff(diff, (path) => path.slice(3));
  assert.deepEqual([shown.name, shown.preview, shown.change, shown.hunks], ["a.py", true, "update", [{ line: 12, lines: ["-x", "+y"] }]]);
});
