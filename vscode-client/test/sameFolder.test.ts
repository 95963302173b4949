import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { foldersHere, isSameFolder, spelled } from "../src/common/sameFolder";

test("a folder is the same through a link, and one that is gone only by its name", async () => {
  const root = mkdtempSync(join(tmpdir(), "north-"));
  try {
    const [real, link, other, gone] = ["real", "link", "other", "gone"].map((name) => join(root, name)) as [string, string, string, string];
    for (const folder of [real, other]) mkdirSync(folder);
    symlinkSync(real, link, "junction");
    const isHere = await foldersHere(link, [real, link, other, gone, ""]);
    assert.deepEqual([real, link, other, gone, "", `${link}/`].map(isHere), [true, true, false, false, false, true]);
    assert.deepEqual([real, link, other, gone, ""].map((folder) => isSameFolder(folder, link)), [true, true, false, false, false]);
    assert.equal(isSameFolder(gone, `${gone}/`), true);
  } finally {
    rmSync(root, { recursive: true });
  }
});

test("on Windows the case of a path and the slashes do not count; elsewhere they do", () => {
  assert.equal(spelled("c:/Work/Repo/", "win32"), spelled("C:\\work\\repo", "win32"));
  assert.equal(spelled("C:\\", "win32"), "c:\\");
  assert.notEqual(spelled("/work/Repo", "linux"), spelled("/work/repo", "linux"));
  assert.equal(spelled("/", "linux"), "/");
});
