import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { HiddenDocuments } from "../src/places/hiddenDocuments";
import { disk, showTab, Uri, workspace } from "./support/vscode";

const FILE = "file:///repo/a.ts";

/** What North's server is told, in order. */
function world() {
  const told: string[] = [];
  const hidden = new HiddenDocuments();
  const { didOpen, didChange, didSave, didClose } = hidden.middleware;
  const tell = (what: string) => async () => void told.push(what);
  assert.ok(didOpen && didChange && didSave && didClose);
  type Document = Parameters<typeof didOpen>[0];
  const made = () => workspace.textDocuments[0] as unknown as Document & { isDirty: boolean };
  return {
    told,
    hidden,
    open: async () => {
      disk.set(FILE, "x\n");
      await hidden.open(Uri.parse(FILE) as never);
      await didOpen(made(), tell("open"));
    },
    opened: () => didOpen(made(), tell("open")),
    change: () => didChange({ document: made() } as never, tell("change")),
    save: () => didSave(made(), tell("save")),
    close: () => didClose(made(), tell("close")),
    dirty: () => (made().isDirty = true),
  };
}

afterEach(() => {
  workspace.textDocuments = [];
  disk.clear();
  showTab("");
});

test("North's server does not hear of a document that was opened for language servers alone", async () => {
  const { told, hidden, open, change, save, close } = world();
  await open();
  assert.equal(hidden.has(Uri.parse(FILE) as never), true);
  for (const act of [change, save, close]) await act();
  assert.deepEqual(told, []);
  assert.equal(hidden.has(Uri.parse(FILE) as never), false);
});

test("it hears of it as soon as the user has it in a tab, and of everything from then on", async () => {
  const { told, hidden, open, change, save, close } = world();
  await open();
  showTab(FILE);
  for (const act of [change, save, close]) await act();
  assert.deepEqual(told, ["open", "change", "save", "close"]);
  assert.equal(hidden.has(Uri.parse(FILE) as never), false);
});

test("it hears of a text that is not saved, with the change", async () => {
  const { told, open, change, dirty } = world();
  await open();
  dirty();
  await change();
  await change();
  assert.deepEqual(told, ["open", "change"]);
});

test("a document that the user opens is told as ever", async () => {
  const { told, opened, change } = world();
  workspace.textDocuments = [{ uri: Uri.parse(FILE), version: 1, getText: () => "" }];
  await opened();
  await change();
  assert.deepEqual(told, ["open", "change"]);
});
