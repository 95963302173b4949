/**
 * Reviewing proposals: by hunk, by file, several files at once, by keyboard; and what was applied, seen and taken back.
 * Packed, with the real server; the model plays a script. With words of the names of its cases: only those.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";

import { makeBed, spread } from "./bed.mjs";
import * as controls from "./controls.mjs";
import { palette, screenshot, until } from "./workbench.mjs";

const bed = await makeBed("review");
const project = bed.path("project");
const script = bed.path("script.json");
await writeFile(script, JSON.stringify([[{ say: "Hello." }]]));
bed.usePlayedModel(script);
const { chat, page } = await bed.start({
  workspace: project,
  // What saving does to a file must not be done to a proposal.
  settings: { "files.trimTrailingWhitespace": true, "files.insertFinalNewline": true },
  size: { width: 1400, height: 900 },
});

/** Each case has a folder of its own: VS Code keeps documents for a while that were written to. */
let own = "";
const file = (name) => path.join(project, own, name);
const read = (name) => readFile(file(name), "utf8");

const tabs = () => controls.editorTab(page, "North's proposal");
const dialog = controls.dialog(page);
const right = () => page.locator(".editor.modified .monaco-editor");
const line = (text) => right().locator(".view-line", { hasText: text });
const lens = (text) => right().locator(".codelens-decoration a", { hasText: text });
const row = (name) => page.locator(".pane-body .monaco-list-row", { hasText: name }).first();
const inlineAction = async (name, label) => {
  await row(name).hover();
  await row(name).locator(`.action-label[aria-label^="${label}"]`).click();
};
const chord = async (second) => {
  await page.keyboard.press("Control+K");
  await page.keyboard.press(second);
};

/** The cursor is in the proposal of a file; a new one stands alone. */
async function at(name) {
  await page.locator(".tabs-container .tab.active", { hasText: name }).waitFor();
  await until(`the cursor in ${name}`, () => page.evaluate(() => (document.activeElement?.closest(".editor.modified, .editor-instance") ?? null) !== null && document.activeElement.closest(".editor.original") === null));
  await page.locator(".editor-group-container.active .codelens-decoration a", { hasText: /Accept|Decide/ }).first().waitFor(); // the extension knows, too
}

/** The model reads files, edits them as one proposal, and says that it is done. */
async function edit(...edits) {
  const paths = new Set(edits.map(([tool, args]) => (tool === "edit_create_file" ? `${own}/one.py` : (args.from ?? args.path))));
  const reads = [...paths].map((name) => ({ call: "read_file", arguments: { path: name } }));
  const call = { call: "edit_apply_batch", arguments: { edits: edits.map(([tool, args]) => ({ tool, args })) } };
  await writeFile(script, JSON.stringify([reads, [call], [{ say: "All done." }]]));
  await chat.send("go on");
}

async function propose(...edits) {
  await edit(...edits);
  await chat.question("edit").waitFor();
}

const replace = (name, from, to) => ["edit_replace_exact", { path: `${own}/${name}`, old: from, new: to }];

/** Closes the proposal as a person would: after its text was saved by itself, at once. */
async function closeTab() {
  await page.locator(".tabs-container .tab.dirty").waitFor({ state: "detached" });
  await tabs().locator(".tab-actions .action-label").click();
  await tabs().waitFor({ state: "detached" });
}

async function decided() {
  await tabs().first().waitFor({ state: "detached" });
  await chat.idle();
}

/** Five files: two that change, a new one, one that goes, one that moves. */
async function five() {
  await writeFile(file("one.py"), spread("A = 1", "B = 1"));
  await writeFile(file("two.py"), "C = 1\n");
  await writeFile(file("gone.py"), "GONE = 1\n");
  await writeFile(file("old.py"), "SAME = 1\n");
  await rm(file("lib/moved.py"), { force: true });
  await rm(file("made.py"), { force: true });
  await propose(
    replace("one.py", "A = 1", "A = 2"),
    replace("one.py", "B = 1", "B = 2"),
    replace("two.py", "C = 1", "C = 2"),
    ["edit_create_file", { path: `${own}/made.py`, content: "MADE = 1\nMORE = 1\n" }],
    ["edit_delete_file", { path: `${own}/gone.py` }],
    ["edit_move_file", { from: `${own}/old.py`, to: `${own}/lib/moved.py` }],
  );
}

const cases = {
  async "each hunk has its buttons"() {
    await writeFile(file("one.py"), spread("A = 1", "B = 1", "C = 1"));
    await propose(replace("one.py", "A = 1", "A = 2"), replace("one.py", "B = 1", "B = 2"), replace("one.py", "C = 1", "C = 2"));
    await tabs().waitFor();
    await line("A = 2").waitFor();
    await lens("Accept").first().waitFor();
    await screenshot(page, "review-1-lenses");
    await lens("Reject").first().click();
    await line("A = 1").waitFor();
    await page.locator(".statusbar-item", { hasText: "Ln 14, Col 1" }).waitFor(); // the next one, not the first
    await lens("Decide Again").first().waitFor();
    await lens("Accept").first().click();
    await lens("Decide Again").nth(1).waitFor();
    await screenshot(page, "review-2-decided");
    await lens("Decide Again").first().click();
    await line("A = 2").waitFor();
    await until("the buttons", async () => (await lens("Decide Again").count()) === 1);
    await lens("Reject").first().click();
    await line("A = 1").waitFor();
    await until("the buttons", async () => (await lens("Decide Again").count()) === 2);
    await lens("Accept").first().click(); // the last one decides the edit
    await decided();
    assert.equal(await read("one.py"), spread("A = 1", "B = 2", "C = 2"));
    await chat.row("edit").locator(".decision", { hasText: "2 of 3 changes" }).last().waitFor();
  },

  async "closing what was decided and typed asks nothing and loses nothing"() {
    await writeFile(file("one.py"), spread("A = 1", "B = 1"));
    await propose(replace("one.py", "A = 1", "A = 2"), replace("one.py", "B = 1", "B = 2"));
    await line("A = 2").click();
    await page.keyboard.press("End");
    await page.keyboard.type("  # typed");
    await lens("Reject").last().click();
    await line("B = 1").waitFor();
    await closeTab();
    assert.equal(await dialog.count(), 0);
    await chat.question("edit").getByRole("button", { name: "Show changes" }).click();
    await line("A = 2  # typed").waitFor();
    await line("B = 1").waitFor();
    await palette(page, "North: Accept");
    await decided();
    assert.equal(await read("one.py"), spread("A = 2  # typed", "B = 1"));
  },

  async "what saving does to files does nothing to a proposal"() {
    await writeFile(file("one.py"), `keep   \n${spread("A = 1", "B = 1")}last`);
    await propose(replace("one.py", "A = 1", "A = 2"), replace("one.py", "B = 1", "B = 2"));
    await line("A = 2").click();
    await chord("n");
    await line("A = 1").waitFor();
    await closeTab();
    assert.equal(await dialog.count(), 0);
    await palette(page, "North: Accept");
    await chat.idle();
    assert.equal(await read("one.py"), `keep   \n${spread("A = 1", "B = 2")}last`);
  },

  async "the files of a proposal are listed, and decided one by one"() {
    await five();
    await tabs().waitFor();
    assert.equal(await tabs().count(), 1);
    await page.keyboard.type("and then");
    assert.equal(await chat.input.inputValue(), "and then"); // the cursor stayed
    await chat.input.fill("");
    for (const text of ["+2 −2", "+1 −1", "+2 −0", "+0 −1", "moved from files-of/old.py"]) await page.locator(".monaco-list-row", { hasText: text }).first().waitFor();
    await screenshot(page, "review-3-files");
    // The check mark in the tab is about this file.
    await line("A = 2").click();
    await page.locator(".editor-actions").getByRole("button", { name: /^Accept File/ }).click();
    await page.locator(".tabs-container .tab.active", { hasText: "two.py" }).waitFor();
    assert.ok(await chat.question("edit").isVisible());
    assert.equal(await read("one.py"), spread("A = 1", "B = 1"));
    // The list is drawn anew after each decision: a click before that may meet the row beside it.
    const marked = (name, icon, state = "visible") => row(name).locator(`.codicon-${icon}`).waitFor({ state });
    await inlineAction("gone.py", "Reject File");
    await marked("gone.py", "circle-slash");
    await inlineAction("moved.py", "Accept File");
    await marked("moved.py", "pass");
    await inlineAction("moved.py", "Decide Again");
    await marked("moved.py", "pass", "detached");
    await inlineAction("moved.py", "Reject File");
    await marked("moved.py", "circle-slash");
    await inlineAction("made.py", "Accept File");
    await page.locator(".pane-header", { hasText: "4 of 5 files decided" }).waitFor();
    for (const [name, icon] of [["one.py", "pass"], ["gone.py", "circle-slash"], ["moved.py", "circle-slash"], ["made.py", "pass"]]) {
      await row(name).locator(`.codicon-${icon}`).waitFor();
    }
    await screenshot(page, "review-4-decided");
    await inlineAction("two.py", "Reject File");
    await decided();
    assert.equal(await read("one.py"), spread("A = 2", "B = 2"));
    assert.equal(await read("two.py"), "C = 1\n");
    assert.equal(await read("gone.py"), "GONE = 1\n");
    assert.equal(await read("made.py"), "MADE = 1\nMORE = 1\n");
    assert.ok(existsSync(file("old.py")) && !existsSync(file("lib/moved.py")));
    await page.locator(".pane-header", { hasText: "Proposed Changes" }).waitFor({ state: "detached" });
  },

  async "the keys decide, and go from file to file"() {
    await five();
    await line("A = 2").click();
    await page.keyboard.press("Alt+F5");
    await page.locator(".statusbar-item", { hasText: "Ln 14, Col 1" }).waitFor();
    await page.keyboard.press("Alt+F5");
    await at("two.py");
    await page.keyboard.press("Shift+Alt+F5");
    await at("one.py");
    await page.locator(".statusbar-item", { hasText: "Ln 14, Col 1" }).waitFor();
    await chord("n"); // the second of one.py; the next open one is in two.py
    await at("two.py");
    await chord("y");
    await at("made.py");
    assert.equal(await page.locator(".monaco-diff-editor:visible").count(), 0); // there is nothing to compare it with
    await screenshot(page, "review-5b-new");
    await chord("Shift+N");
    await at("gone.py");
    await screenshot(page, "review-5-keys");
    await chord("Shift+Y");
    await at("moved.py");
    await screenshot(page, "review-6-moved");
    await page.locator(".editor-actions").getByRole("button", { name: /^Accept File/ }).click();
    await at("one.py"); // its first hunk is left
    await chord("y");
    await decided();
    assert.equal(await read("one.py"), spread("A = 2", "B = 1"));
    assert.equal(await read("two.py"), "C = 2\n");
    assert.ok(!existsSync(file("made.py")) && !existsSync(file("gone.py")));
    assert.equal(await read("lib/moved.py"), "SAME = 1\n");
  },

  async "all files stand in one editor, where they can be changed"() {
    await five();
    await chat.question("edit").getByRole("button", { name: "Show changes" }).click();
    const all = page.locator(".multiDiffEditor, .multi-diff-editor, .monaco-component.multiDiffEditor").first();
    await all.waitFor();
    await line("A = 2").waitFor();
    await lens("Accept File").first().waitFor();
    await screenshot(page, "review-7-all");
    await line("C = 2").click();
    await page.keyboard.press("End");
    await page.keyboard.type("0");
    await line("C = 20").waitFor();
    await lens(/^.?Reject$/).first().click();
    await line("A = 1").waitFor();
    await screenshot(page, "review-8-all-changed");
    await page.locator(".editor-actions").getByRole("button", { name: /^Accept All/ }).first().click();
    await decided();
    assert.equal(await dialog.count(), 0);
    assert.equal(await read("two.py"), "C = 20\n");
    assert.equal(await read("made.py"), "MADE = 1\nMORE = 1\n");
    assert.equal(await read("lib/moved.py"), "SAME = 1\n");
    assert.ok((await read("one.py")).includes("A = 1") || (await read("one.py")).includes("B = 1"));
  },

  async "a rejected hunk can be decided again where all files stand in one editor, which hides its lines"() {
    await writeFile(file("one.py"), spread("A = 1", "B = 1", "C = 1"));
    await writeFile(file("two.py"), "C = 1\n");
    await propose(...["A", "B", "C"].map((name) => replace("one.py", `${name} = 1`, `${name} = 2`)), replace("two.py", "C = 1", "C = 2"));
    await chat.question("edit").getByRole("button", { name: "Show changes" }).click();
    await line("A = 2").waitFor();
    await lens(/^.?Reject$/).first().click();
    await line("A = 2").waitFor({ state: "detached" });
    const again = lens("Decide Again").first();
    await again.waitFor();
    await right().locator(".codelens-decoration", { hasText: "in the hidden lines: rejected" }).first().waitFor();
    await screenshot(page, "review-6b-hidden");
    await again.click();
    await line("A = 2").waitFor();
    await chat.decide("edit", "Reject");
    await decided();
  },

  async "an open file shows what a proposal would change"() {
    await writeFile(file("one.py"), spread("A = 1", "B = 1"));
    await palette(page, "View: Close All Editors");
    await controls.openFile(page, `${own}/one.py`);
    await propose(replace("one.py", "B = 1", "B = 2"));
    await tabs().waitFor();
    await page.locator(".tabs-container .tab", { hasText: /^one\.py$/ }).click();
    const target = page.locator(".editor-instance .view-overlays [class*='ced-']").first();
    await target.waitFor();
    await screenshot(page, "review-9-target");
    await palette(page, "North: Reject");
    await decided();
    await target.waitFor({ state: "detached" });
  },

  async "edits are accepted without a question in one conversation only"() {
    const shield = page.locator('.statusbar-item[id*="north.permissions"]');
    await writeFile(file("two.py"), "C = 1\n");
    await propose(replace("two.py", "C = 1", "C = 2"));
    await chat.question("edit").getByRole("button", { name: "Accept this and all later edits in this project…" }).click();
    await dialog.getByRole("button", { name: "Only in This Conversation" }).waitFor();
    await screenshot(page, "review-13-how-long");
    await dialog.getByRole("button", { name: "Only in This Conversation" }).click();
    await decided();
    await shield.filter({ hasText: "all edits" }).waitFor();
    await chat.row("edit").locator(".decision", { hasText: "in this conversation" }).last().waitFor();
    await edit(replace("two.py", "C = 2", "C = 3"));
    await until("the edit without a question", async () => (await read("two.py")) === "C = 3\n");
    await chat.idle();
    await palette(page, "North: New Chat");
    await shield.waitFor({ state: "detached" });
    await propose(replace("two.py", "C = 3", "C = 4"));
    await palette(page, "North: Reject");
    await decided();
  },

  async "what a turn changed is seen, undone and redone"() {
    await five();
    await palette(page, "North: Accept");
    await decided();
    const changes = chat.row("changes").last();
    await changes.filter({ hasText: "Changed 5 files" }).waitFor();
    await screenshot(page, "review-10-turn");
    await changes.getByRole("button", { name: "Show Changes" }).click();
    await page.locator(".tabs-container .tab.active", { hasText: "Changed by North" }).waitFor();
    await line("A = 2").waitFor();
    await screenshot(page, "review-11-turn-changes");
    await palette(page, "View: Close All Editors");
    await changes.getByRole("button", { name: "Undo" }).click();
    await until("the files as they were", async () => (await read("one.py")) === spread("A = 1", "B = 1") && existsSync(file("gone.py")));
    await changes.filter({ hasText: "undone" }).waitFor();
    await chat.row("edit").locator(".decision", { hasText: "Accept — undone" }).last().waitFor();
    await screenshot(page, "review-12-undone");
    await changes.getByRole("button", { name: "Redo" }).click();
    await until("the files as they were made", async () => (await read("one.py")) === spread("A = 2", "B = 2") && !existsSync(file("gone.py")));
    await changes.getByRole("button", { name: "Undo" }).waitFor();
    // However it is taken back, the chat says so.
    await palette(page, "North: Undo Last Edit");
    await changes.filter({ hasText: "undone" }).waitFor();
  },
};

await bed.each(cases, {
  async before(name) {
    own = name.split(" ").slice(1, 3).join("-").replace(/\W+$/, "");
    await mkdir(file("."));
  },
  async recover() {
    if (await chat.frame.locator("#stop").isVisible()) await palette(page, "North: Stop");
    await palette(page, "North: New Chat");
    await palette(page, "View: Close All Editors");
    if ((await dialog.count()) > 0) await dialog.getByRole("button", { name: "Don't Save" }).click();
    await palette(page, "North: Restart Server"); // its script begins again
    await palette(page, "North: Show Chat");
  },
});
