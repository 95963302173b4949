import assert from "node:assert/strict";
import { test } from "node:test";

import { type CheckpointFile, type Checkpoint, turnsOf, undoneCalls } from "../src/review/checkpoints";

const file = (path: string, undone = false): CheckpointFile => ({ path, linesAdded: 2, linesRemoved: 1, undone });
const edit = (checkpointId: string, turnId: string, ...files: CheckpointFile[]): Checkpoint => ({
  checkpointId,
  kind: "edit",
  title: checkpointId,
  at: `2026-01-01T00:00:0${checkpointId.length}Z`,
  turnId,
  toolCallId: `call-${checkpointId}`,
  files,
});

test("a turn is the sum of its edits", () => {
  const [first, second] = turnsOf([edit("a", "t1", file("/p/a.py")), edit("bb", "t1", file("/p/a.py"), file("/p/b.py")), edit("c", "t2", file("/p/c.py"))]);
  assert.deepEqual(first, {
    id: "t1",
    first: "a",
    at: "2026-01-01T00:00:02Z",
    paths: ["/p/a.py", "/p/b.py"],
    added: 6,
    removed: 3,
    standing: "stands",
  });
  assert.equal(second?.id, "t2");
});

test("undos and points in time are no turns", () => {
  const undo: Checkpoint = { ...edit("u", "t1", file("/p/a.py")), kind: "undo" };
  const point: Checkpoint = { checkpointId: "p", kind: "point", title: "p", at: "", files: [] };
  assert.deepEqual(turnsOf([undo, point]), []);
});

test("a turn stands, is undone, or in part", () => {
  const standing = (...files: CheckpointFile[]): unknown => turnsOf([edit("a", "t", ...files)])[0]?.standing;
  assert.equal(standing(file("a", true), file("b", true)), "undone");
  assert.equal(standing(file("a", true), file("b")), "partly");
});

test("a moved file is called what it is called now", () => {
  assert.deepEqual(turnsOf([edit("a", "t", { ...file("/p/old"), newPath: "/p/new" })])[0]?.paths, ["/p/new"]);
});

test("calls are undone one by one", () => {
  const calls = undoneCalls([edit("a", "t", file("x", true)), edit("b", "t", file("y"))]);
  assert.deepEqual([...calls], [
    ["call-a", "undone"],
    ["call-b", "stands"],
  ]);
});
