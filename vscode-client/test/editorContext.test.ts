import assert from "node:assert/strict";
import { test } from "node:test";

import { type Always, Automatic, offersOf, type Shown } from "../src/composer/editorContext";

const file: Shown = { uri: "file:///p/a.py", name: "a.py", isFile: true };
const selected: Shown = { ...file, selection: { lines: [3, 5], length: 40 } };

const automatic = (always: Always, mayRead: (uri: string) => Promise<boolean> = async () => true) => new Automatic(() => always, mayRead);

/** What goes along once it was asked whether it may. */
async function along(always: Always, shown: Shown | undefined, mayRead?: (uri: string) => Promise<boolean>): Promise<string | undefined> {
  const context = automatic(always, mayRead);
  await context.check(shown, false);
  return context.of(shown)?.uri;
}

test("the selection is offered before its file, and is gone with the selection", () => {
  assert.deepEqual(offersOf(selected).map(({ id, label, uri }) => [id, label, uri]), [
    ["selection", "a.py:3-5", "file:///p/a.py#L3-L5"],
    ["file", "a.py", "file:///p/a.py"],
  ]);
  assert.deepEqual(offersOf(file).map(({ id }) => id), ["file"]);
  assert.deepEqual(offersOf(undefined), []);
});

test("of a text that is no file of the workspace only the selection can be had", () => {
  assert.deepEqual(offersOf({ ...selected, isFile: false }).map(({ id }) => id), ["selection"]);
});

test("nothing goes along unless the user has set that", async () => {
  assert.equal(await along("never", selected), undefined);
  assert.equal(await along("selection", selected), "file:///p/a.py#L3-L5");
  assert.equal(await along("selection", file), undefined);
  assert.equal(await along("selectionOrFile", file), "file:///p/a.py");
  assert.equal(await along("selectionOrFile", selected), "file:///p/a.py#L3-L5");
});

test("what North may not read does not go along, nor what nobody knows about yet", async () => {
  assert.equal(await along("selection", selected, async () => false), undefined);
  assert.equal(await along("selection", { ...selected, isFile: false }), undefined);
  assert.equal(automatic("selection").of(selected), undefined);
});

test("a file that was closed to North in the meantime does not go along any more", async () => {
  let may = true;
  const context = automatic("selection", async () => may);
  await context.check(selected, false);
  assert.notEqual(context.of(selected), undefined);
  may = false;
  await context.check(selected, true);
  assert.equal(context.of(selected), undefined);
});

test("a very long selection goes along only when it is attached", async () => {
  const long: Shown = { ...file, selection: { lines: [1, 9_000], length: 200_000 } };
  assert.equal(await along("selection", long), undefined);
  assert.deepEqual(offersOf(long).map(({ id }) => id), ["selection", "file"]);
});

test("what was taken away stays away until the selection is another one or the message has gone", async () => {
  const context = automatic("selection");
  await context.check(selected, false);
  context.dismiss(selected);
  assert.equal(context.of(selected), undefined);
  const other: Shown = { ...file, selection: { lines: [7, 7], length: 4 } };
  assert.equal(context.of(other)?.label, "a.py:7");
  context.sent();
  assert.equal(context.of(selected)?.label, "a.py:3-5");
});
