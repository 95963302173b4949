/**
 * North's extension as a user meets it: packed, installed into the test bed, with the real server and the offline model.
 * The cases follow each other as a day's work does; with words of their names: only those.
 *
 * `NORTH_E2E_SERVER` names another north-lsp than the checkout's own.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile, readdir, writeFile } from "node:fs/promises";
import path from "node:path";

import { makeBed, spread } from "./bed.mjs";
import { dialog, editorTab, focusedRow, listRow, openFile, pick } from "./controls.mjs";
import { diffEditorLines, notification, palette, screenshot, until, visibleLines } from "./workbench.mjs";

const bed = await makeBed("extension");
bed.useOfflineModel();
const project = await bed.sampleProject();
const greeting = path.join(project, "hello/greeting.py");
const many = path.join(project, "hello/many.py");
await writeFile(many, spread("ITEM = 1", "ITEM = 2", "ITEM = 3"));
const { chat, page } = await bed.start({
  workspace: project,
  env: { NORTH_OFFLINE_DELAY_MS: "40", OPENAI_BASE_URL: "http://127.0.0.1:1/v1" },
});

const diffTab = editorTab(page, "North's proposal");
const editor = page.locator(".editor-instance .monaco-editor").first();
const right = page.locator(".editor.modified .monaco-editor");
const status = page.locator('.statusbar-item[id*="north.status"]');
const editorText = async () => (await visibleLines(editor)).join("\n");
const onDisk = async (file, text) => (await readFile(file, "utf8")).includes(text);
const beginsWith = (text) => async () => (await readFile(many, "utf8")).startsWith(text);

/** The processes of North's server that this test's extension started, by a folder that only they know. */
async function serverProcesses() {
  const found = [];
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const read = (file) => readFile(`/proc/${name}/${file}`, "utf8").catch(() => "");
    const [command, environment] = await Promise.all([read("cmdline"), read("environ")]);
    const isServer = command.includes("north-lsp\0lsp\0") && environment.includes(`NORTH_DATA_DIR=${bed.path("data")}`);
    if (isServer) found.push(Number(name));
  }
  return found;
}

const cases = {
  async "the chat opens, and its input has the focus"() {
    await until("the input to have the focus", () => chat.input.evaluate((input) => input === document.activeElement));
    await screenshot(page, "extension-1-chat");
  },

  async "an answer streams"() {
    await chat.send("explain greet");
    const lengths = new Set();
    await until("the answer's text to grow", async () => {
      const answers = await chat.row("answer").allTextContents();
      lengths.add(answers.join("").length);
      return lengths.size > 5;
    });
    await chat.frame.locator("#stop").waitFor();
    await status.filter({ hasText: "Agent" }).locator(".codicon-sync").waitFor();
    await screenshot(page, "extension-2-streaming");
    await chat.idle();
    assert.ok((await chat.row("tool").count()) > 0);
    await chat.frame.locator("#usage", { hasText: /^\d+ %$/ }).waitFor();
    await screenshot(page, "extension-3-answer");
  },

  async "a tool call opens its file"() {
    await chat.frame.locator(".call", { hasText: "greeting.py" }).first().click();
    await editorTab(page, "greeting.py").and(page.locator(".active")).waitFor();
    await until("the file's text", async () => (await editorText()).includes('SALUTATION = "Hello"'));
  },

  async "an edit is accepted in the diff editor, undone, redone and saved"() {
    await chat.send('replace "Hello" by "Good morning" in hello/greeting.py');
    await diffTab.waitFor();
    await until("both sides of the diff", async () => {
      const { original, modified } = await diffEditorLines(page);
      return original.includes('SALUTATION = "Hello"') && modified.includes('SALUTATION = "Good morning"');
    });
    await chat.question("edit").getByRole("button", { name: "Accept", exact: true }).waitFor();
    // The diff shows without taking the cursor: what is being typed goes on into the chat.
    await page.keyboard.type("and then");
    assert.equal(await chat.input.inputValue(), "and then");
    await chat.input.fill("");
    assert.deepEqual(await chat.question("edit").getByRole("button").allTextContents(), [
      "Show changes",
      "Accept",
      "Reject",
      "Accept this and all later edits in this project…",
    ]);
    await screenshot(page, "extension-4-diff");
    // Closing the diff decides nothing.
    await diffTab.locator(".tab-actions .action-label").click();
    await diffTab.waitFor({ state: "detached" });
    await chat.question("edit").getByRole("button", { name: "Show changes" }).click();
    await diffTab.waitFor();
    assert.ok(await onDisk(greeting, '"Hello"'));
    await page.locator(".editor-actions").getByRole("button", { name: /^Accept File/ }).click();
    await diffTab.waitFor({ state: "detached" });
    await chat.idle();
    await until("the edit in the editor", async () => (await editorText()).includes('SALUTATION = "Good morning"'));
    await until("the edit on the disk", () => onDisk(greeting, 'SALUTATION = "Good morning"'));
    await screenshot(page, "extension-5-accepted");
    await editor.locator(".view-line").first().click();
    await page.keyboard.press("Control+Z");
    await until("one undo to take it back", async () => (await editorText()).includes('SALUTATION = "Hello"'));
    await page.keyboard.press("Control+Shift+Z");
    await until("redo", async () => (await editorText()).includes('SALUTATION = "Good morning"'));
    await page.keyboard.press("Control+S");
    await until("the file on disk", () => onDisk(greeting, '"Good morning"'));
  },

  async "an edit is rejected from the palette"() {
    await chat.send('replace "stranger" by "friend" in hello/greeting.py');
    await diffTab.waitFor();
    await palette(page, "North: Reject");
    await diffTab.waitFor({ state: "detached" });
    await chat.row("edit").locator(".decision", { hasText: "Reject" }).waitFor();
    await chat.idle();
  },

  async "an edit is rejected in the chat with a word to the model"() {
    await chat.send('replace "stranger" by "guest" in hello/greeting.py');
    await diffTab.waitFor();
    await chat.question("edit").getByRole("textbox").fill("visitor would be better");
    await chat.question("edit").getByRole("textbox").press("Enter");
    await diffTab.waitFor({ state: "detached" });
    await chat.row("edit").locator(".decision", { hasText: "Reject: visitor would be better" }).waitFor();
    await chat.idle();
    assert.ok(await onDisk(greeting, '"stranger"'));
    assert.ok((await editorText()).includes('"stranger"'));
  },

  /** One accepted, one rejected; the last one, accepted, decides the whole. */
  async "the hunks of an edit are decided one by one"() {
    await chat.send('replace "ITEM" by "ENTRY" in hello/many.py');
    await diffTab.waitFor();
    await until("the hunks of the diff", async () => {
      const { modified } = await diffEditorLines(page);
      return modified.some((line) => line.includes("ENTRY = 1"));
    });
    await right.locator(".view-line", { hasText: "ENTRY = 1" }).click();
    await palette(page, "North: Accept Hunk");
    await page.locator(".statusbar-item", { hasText: "Ln 14, Col 1" }).waitFor(); // at the next hunk
    await page.keyboard.press("Control+K");
    await page.keyboard.press("n");
    await until("the second hunk to be taken out", async () => {
      const { modified } = await diffEditorLines(page);
      return modified.some((line) => line.includes("ITEM = 2"));
    });
    await screenshot(page, "extension-5b-hunks");
    await page.keyboard.press("Control+K");
    await page.keyboard.press("y");
    await diffTab.waitFor({ state: "detached" });
    await chat.idle();
    assert.equal(await readFile(many, "utf8"), spread("ENTRY = 1", "ITEM = 2", "ENTRY = 3"));
  },

  async "an edit is changed by the user before it is accepted"() {
    await chat.send('replace "ENTRY = 1" by "FIRST = 1" in hello/many.py');
    await diffTab.waitFor();
    await right.locator(".view-line", { hasText: "FIRST = 1" }).click();
    await page.keyboard.press("End");
    await page.keyboard.type("  # the user's own");
    await palette(page, "North: Accept");
    await diffTab.waitFor({ state: "detached" });
    await chat.idle();
    assert.equal(await readFile(many, "utf8"), spread("FIRST = 1  # the user's own", "ITEM = 2", "ENTRY = 3"));
  },

  async "edits are taken back and done again, and a later change at the same place is not lost without a word"() {
    await palette(page, "North: Undo Last Edit");
    await until("the edit to be taken back", beginsWith("ENTRY = 1\n"));
    await palette(page, "North: Redo Edit");
    await until("the edit to be done again", beginsWith("FIRST = 1  # the user's own\n"));
    await writeFile(many, (await readFile(many, "utf8")).replace("FIRST = 1", "LATER = 1"));
    await palette(page, "North: Undo an Edit…");
    await listRow(page, "many.py").first().waitFor();
    await page.keyboard.press("Enter");
    await dialog(page).filter({ hasText: "changed later at the same place" }).waitFor();
    await screenshot(page, "extension-5c-undo");
    await dialog(page).getByRole("button", { name: "Keep Later Changes" }).click();
    await notification(page, "North: not restored: hello/many.py").waitFor();
    assert.ok(await beginsWith("LATER = 1")());
    await palette(page, "Notifications: Clear All Notifications");
  },

  async "a key is asked for without being shown, tried out, and stored"() {
    const secret = "sk-e2e-0123456789abcdef";
    await palette(page, "North: Store an API Key…");
    await pick(page, "openai", "OpenAI");
    await page.locator('.quick-input-widget input[type="password"]').fill(secret);
    await page.keyboard.press("Enter");
    await dialog(page).getByRole("button", { name: "Store It Anyway" }).click();
    await notification(page, "North has stored the key …cdef of OpenAI.").waitFor();
    assert.ok((await readFile(bed.path("data/agent.db"))).includes(secret));
    assert.ok(!(await page.content()).includes(secret));
    await palette(page, "Notifications: Clear All Notifications");
  },

  async "a proposal leaves the file alone that is being written in"() {
    const proposes = notification(page, "North proposes to change many.py.");
    await openFile(page, "hello/many.py");
    await chat.send("explain greet");
    await chat.frame.locator("#stop").waitFor();
    await chat.send('replace "= 2" by "= 22" in hello/many.py');
    await chat.frame.locator("#queue li").waitFor();
    await editor.locator(".view-line").first().click();
    for (const key of ["Home", "End"]) await page.keyboard.press(key); // one of them moves the cursor
    await proposes.waitFor();
    assert.equal(await diffTab.count(), 0);
    await screenshot(page, "extension-5d-offered");
    await proposes.getByText("Show Changes").click();
    await diffTab.waitFor();
    await palette(page, "North: Reject");
    await diffTab.waitFor({ state: "detached" });
    await proposes.waitFor({ state: "detached" });
    await chat.idle();
  },

  async "a command is approved in the chat"() {
    await chat.send("run `echo a-command-that-ran`");
    const approval = chat.question("command");
    await approval.locator("pre", { hasText: "echo a-command-that-ran" }).waitFor();
    await notification(page, "North asks to run echo a-command-that-ran").waitFor();
    const focused = await approval.evaluate((card) => card.contains(document.activeElement));
    assert.equal(focused, false, "no button of an approval may have the focus");
    await screenshot(page, "extension-6-command");
    await chat.decide("command", "Run");
    await notification(page, "North asks to run").waitFor({ state: "detached" });
    await chat.idle();
    await chat.row("answer").filter({ hasText: "a-command-that-ran" }).first().waitFor();
  },

  async "a command is changed before it runs"() {
    await chat.send("run `touch asked.txt`");
    const approval = chat.question("command");
    await approval.getByRole("button", { name: "Edit…" }).click();
    await approval.locator("textarea").fill("touch changed.txt");
    await screenshot(page, "extension-6b-changed");
    await chat.decide("command", "Run");
    await chat.idle();
    await chat.row("command").locator(".decision", { hasText: "changed to touch changed.txt" }).waitFor();
    assert.ok(existsSync(path.join(project, "changed.txt")) && !existsSync(path.join(project, "asked.txt")));
  },

  async "a command is denied from the palette"() {
    await chat.send("run `touch denied.txt`");
    await chat.question("command").waitFor();
    await palette(page, "North: Deny Command");
    await chat.row("command").locator(".decision", { hasText: "Deny" }).waitFor();
    await chat.idle();
    assert.ok(!existsSync(path.join(project, "denied.txt")));
    await screenshot(page, "extension-7-denied");
  },

  async "a turn is stopped, and what was queued is the user's again"() {
    await chat.send("run `sleep 50`"); // it does not end by itself before it is stopped
    await chat.decide("command", "Run");
    await chat.frame.locator("#stop").waitFor();
    await chat.send("list files");
    await chat.frame.locator("#queue li", { hasText: "list files" }).waitFor();
    await screenshot(page, "extension-8-queued");
    await chat.frame.locator("#stop").click();
    await chat.row("notice").filter({ hasText: "Stopped." }).waitFor();
    await chat.idle();
    assert.equal(await chat.input.inputValue(), "list files");
    await chat.frame.locator("#queue").waitFor({ state: "hidden" });
  },

  async "a prompt steers the turn that runs, at its next step"() {
    await chat.send("explain greet");
    await chat.frame.locator("#stop").waitFor();
    await chat.input.fill("list files");
    await chat.frame.locator("#steer").waitFor();
    await chat.input.press("Alt+Enter");
    await chat.row("user").filter({ hasText: "list files" }).last().waitFor();
    await chat.idle();
    assert.equal(await chat.input.inputValue(), "");
  },

  async "the mode is switched from the palette by keyboard"() {
    await palette(page, "North: Switch Mode");
    await page.locator(".quick-input-title", { hasText: "North: Switch Mode" }).waitFor();
    await page.keyboard.type("Ask");
    await until("the mode to be chosen", () => focusedRow(page, "Ask").count());
    await screenshot(page, "extension-9-mode");
    await page.keyboard.press("Enter");
    await status.filter({ hasText: "North: Ask" }).waitFor();
    await chat.frame.locator("#mode", { hasText: /^Ask$/ }).waitFor();
  },

  async "a selection goes with a prompt, and the server, killed in the middle of that turn, is started again"() {
    await openFile(page, "hello/greeting.py");
    await editor.locator(".view-line", { hasText: "SALUTATION =" }).click();
    await page.keyboard.press("Home");
    await page.keyboard.press("Shift+End");
    await palette(page, "North: Ask About Selection");
    await chat.frame.locator("#chips .chip.selection:not(.suggested)", { hasText: "hello/greeting.py:5" }).waitFor();
    const asked = await chat.row("user").first().textContent();
    const mode = await chat.frame.locator("#mode").textContent();
    const [pid] = await until("the server's process", async () => {
      const pids = await serverProcesses();
      return pids.length === 1 && pids;
    });
    await chat.send("explain greet");
    await chat.frame.locator("#stop").waitFor();
    process.kill(pid, "SIGKILL"); // at once: the turn takes a second or two
    await chat.row("user").filter({ hasText: "hello/greeting.py:5" }).waitFor();
    await chat.frame.locator("#chips .chip.selection:not(.suggested)").waitFor({ state: "detached" });
    await chat.row("notice").filter({ hasText: "ended unexpectedly in the middle of a turn and was started again" }).waitFor();
    await chat.idle();
    await until("another server process", async () => (await serverProcesses()).some((other) => other !== pid));
    await chat.row("user").filter({ hasText: asked }).first().waitFor();
    await status.filter({ hasText: `North: ${mode}` }).waitFor();
    await screenshot(page, "extension-10-crash");
    await chat.ask("list files");
  },

  async "a new chat is empty"() {
    await chat.renew();
  },
};

await bed.each(cases, {
  async recover() {
    await page.keyboard.press("Escape");
    if (await chat.frame.locator("#stop").isVisible()) await palette(page, "North: Stop");
    await chat.input.fill("");
  },
});
