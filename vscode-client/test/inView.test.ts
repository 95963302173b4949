import assert from "node:assert/strict";
import { test } from "node:test";

import { FileReview } from "../src/review/hunks";
import { lineInView } from "../src/review/inView";

const text = (...changed: string[]) => changed.map((line) => `${line}\n${"#\n".repeat(12)}`).join("");
const hunk = (id: string, line: number) => ({ id, oldStart: line, oldLines: 1, newStart: line, newLines: 1 });
const hunks = [hunk("h1", 1), hunk("h2", 14), hunk("h3", 27)];
const [OLD, NEW] = [text("a", "b", "c"), text("A", "B", "C")];
const rejected = (...ids: string[]) => {
  const lines = NEW.split("\n");
  for (const { id, newStart } of hunks) if (ids.includes(id)) lines[newStart - 1] = OLD.split("\n")[newStart - 1] ?? "";
  return new FileReview(OLD, NEW, hunks).places(lines.join("\n"));
};

test("what stands at a change is in view", () => {
  for (const line of [0, 13, 26]) assert.equal(lineInView(line, rejected(), 39), line);
});

test("what stands at a rejected hunk, which is unchanged now, is brought to the nearest line in view", () => {
  assert.equal(lineInView(0, rejected("h1"), 39), 10);
  assert.equal(lineInView(13, rejected("h2"), 39), 3);
  assert.equal(lineInView(26, rejected("h3"), 39), 16);
});

test("a rejected hunk beside a change stays where it is", () => {
  assert.equal(lineInView(12, rejected("h1"), 39), 12);
});

test("where nothing is changed any more, nothing is brought anywhere", () => {
  assert.equal(lineInView(13, rejected("h1", "h2", "h3"), 39), 13);
});
