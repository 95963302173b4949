/**
 * North's extension as a user meets it: packed, installed into the test bed, with the real server and the offline model.
 *
 * `NORTH_E2E_SERVER` names another north-lsp than the checkout's own.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { Chat } from "./chat.mjs";
import { checkout, guard, packedExtension, userDataFor } from "./packed.mjs";
import { diffEditorLines, notification, palette, screenshot, startServer, until, visibleLines } from "./workbench.mjs";

const north = process.env.NORTH_E2E_SERVER ?? path.join(checkout, ".venv/bin/north-lsp");

const started = performance.now();
const log = (what) => console.log(`${what} (${((performance.now() - started) / 1000).toFixed(1)} s)`);

/** The processes of North's server that this test's extension started, by a folder that only they know. */
async function serverProcesses(data) {
  const found = [];
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const read = (file) => readFile(`/proc/${name}/${file}`, "utf8").catch(() => "");
    const [command, environment] = await Promise.all([read("cmdline"), read("environ")]);
    const isServer = command.includes("north-lsp\0lsp\0") && environment.includes(`NORTH_DATA_DIR=${data}`);
    if (isServer) found.push(Number(name));
  }
  return found;
}

const folder = await mkdtemp(path.join(tmpdir(), "north-e2e-extension-"));
const project = path.join(folder, "sample");
const greeting = path.join(project, "hello/greeting.py");
const data = path.join(folder, "data");
await cp(path.join(checkout, "north_lsp/cli/demo/sample"), project, { recursive: true });
/** Three lines that stand far apart. */
const manyItems = (...lines) => lines.map((line) => `${line}\n${"#\n".repeat(12)}`).join("");
await writeFile(path.join(project, "hello/many.py"), manyItems("ITEM = 1", "ITEM = 2", "ITEM = 3"));
for (const name of ["config", "data", "state", "home"]) await mkdir(path.join(folder, name));

const rules = guard(folder);
const env = {
  ...rules.env,
  NORTH_CONFIG_DIR: path.join(folder, "config"),
  NORTH_DATA_DIR: data,
  NORTH_STATE_DIR: path.join(folder, "state"),
  NORTH_OFFLINE_DELAY_MS: "40",
  NORTH_MODEL: "offline",
  OPENAI_BASE_URL: "http://127.0.0.1:1/v1",
};
const settings = { "files.autoSave": "off" };

let server;
let page;
try {
  const vsix = await packedExtension();
  log("extension packed");
  const userData = await userDataFor(path.join(folder, "user-data"), north);
  server = await startServer({ vsix, workspace: project, userData, settings, env });
  page = await server.open();
  log("workbench ready");

  const diffTab = page.locator(".tabs-container .tab", { hasText: "North's proposal" });
  const editor = page.locator(".editor-instance .monaco-editor").first();
  const status = page.locator('.statusbar-item[id*="north.status"]');
  const cursorLines = async () => (await visibleLines(editor)).join("\n");
  await status.waitFor();

  // -- the server is found, the chat opens
  await palette(page, "North: Show Chat");
  const chat = new Chat(page);
  await chat.frame.locator("#mode", { hasText: /^Agent$/ }).waitFor();
  await until("the input to have the focus", () => chat.input.evaluate((input) => input === document.activeElement));
  await screenshot(page, "extension-1-chat");
  log("chat opened");

  // -- streamed text
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
  log("text streamed");

  // -- a tool call opens its file
  await chat.frame.locator(".call", { hasText: "greeting.py" }).first().click();
  await page.locator(".tabs-container .tab.active", { hasText: "greeting.py" }).waitFor();
  await until("the file's text", async () => (await cursorLines()).includes('SALUTATION = "Hello"'));
  log("file opened from a tool call");

  // -- an edit, accepted in the native diff editor
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
    "Always accept in this project…",
    "Reject",
  ]);
  await screenshot(page, "extension-4-diff");
  // Closing the diff decides nothing.
  await diffTab.locator(".tab-actions .action-label").click();
  await diffTab.waitFor({ state: "detached" });
  await chat.question("edit").getByRole("button", { name: "Show changes" }).click();
  await diffTab.waitFor();
  assert.ok((await readFile(greeting, "utf8")).includes('"Hello"'));
  await page.locator(".editor-actions").getByRole("button", { name: /^Accept File/ }).click();
  await diffTab.waitFor({ state: "detached" });
  await chat.idle();
  await until("the edit in the editor", async () => (await cursorLines()).includes('SALUTATION = "Good morning"'));
  await until("the edit on the disk", async () => (await readFile(greeting, "utf8")).includes('SALUTATION = "Good morning"'));
  await screenshot(page, "extension-5-accepted");
  await editor.locator(".view-line").first().click();
  await page.keyboard.press("Control+Z");
  await until("one undo to take it back", async () => (await cursorLines()).includes('SALUTATION = "Hello"'));
  await page.keyboard.press("Control+Shift+Z");
  await until("redo", async () => (await cursorLines()).includes('SALUTATION = "Good morning"'));
  await page.keyboard.press("Control+S");
  await until("the file on disk", async () => (await readFile(greeting, "utf8")).includes('"Good morning"'));
  log("edit accepted, undone, redone, saved");

  // -- an edit, rejected from the palette
  await chat.send('replace "stranger" by "friend" in hello/greeting.py');
  await diffTab.waitFor();
  await palette(page, "North: Reject");
  await diffTab.waitFor({ state: "detached" });
  await chat.row("edit").locator(".decision", { hasText: "Reject" }).waitFor();
  await chat.idle();

  // -- an edit, rejected in the chat with a word to the model
  await chat.send('replace "stranger" by "guest" in hello/greeting.py');
  await diffTab.waitFor();
  await chat.question("edit").getByRole("textbox").fill("visitor would be better");
  await chat.question("edit").getByRole("textbox").press("Enter");
  await diffTab.waitFor({ state: "detached" });
  await chat.row("edit").locator(".decision", { hasText: "Reject: visitor would be better" }).waitFor();
  await chat.idle();
  assert.ok((await readFile(greeting, "utf8")).includes('"stranger"'));
  assert.ok((await cursorLines()).includes('"stranger"'));
  log("edit rejected");

  // -- an edit of three hunks: one accepted, one rejected, the last one accepted, which decides the whole
  await chat.send('replace "ITEM" by "ENTRY" in hello/many.py');
  await diffTab.waitFor();
  await until("the hunks of the diff", async () => {
    const { modified } = await diffEditorLines(page);
    return modified.some((line) => line.includes("ENTRY = 1"));
  });
  const right = page.locator(".editor.modified .monaco-editor");
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
  const many = path.join(project, "hello/many.py");
  assert.equal(await readFile(many, "utf8"), manyItems("ENTRY = 1", "ITEM = 2", "ENTRY = 3"));
  log("single hunks decided");

  // -- an edit that the user changes before accepting it
  await chat.send('replace "ENTRY = 1" by "FIRST = 1" in hello/many.py');
  await diffTab.waitFor();
  await right.locator(".view-line", { hasText: "FIRST = 1" }).click();
  await page.keyboard.press("End");
  await page.keyboard.type("  # the user's own");
  await palette(page, "North: Accept");
  await diffTab.waitFor({ state: "detached" });
  await chat.idle();
  assert.equal(await readFile(many, "utf8"), manyItems("FIRST = 1  # the user's own", "ITEM = 2", "ENTRY = 3"));
  log("a changed proposal accepted");

  // -- taken back and done again from the palette; a later change at the same place is not lost without a word
  const first = (text) => async () => (await readFile(many, "utf8")).startsWith(text);
  await palette(page, "North: Undo Last Edit");
  await until("the edit to be taken back", first("ENTRY = 1\n"));
  await palette(page, "North: Redo Edit");
  await until("the edit to be done again", first("FIRST = 1  # the user's own\n"));
  await writeFile(many, (await readFile(many, "utf8")).replace("FIRST = 1", "LATER = 1"));
  await palette(page, "North: Undo an Edit…");
  await page.locator(".quick-input-list .monaco-list-row", { hasText: "many.py" }).first().waitFor();
  await page.keyboard.press("Enter");
  const conflict = page.locator(".monaco-dialog-box");
  await conflict.filter({ hasText: "changed later at the same place" }).waitFor();
  await screenshot(page, "extension-5c-undo");
  await conflict.getByRole("button", { name: "Keep Later Changes" }).click();
  await notification(page, "North left as it is: hello/many.py").waitFor();
  assert.ok(await first("LATER = 1")());
  await palette(page, "Notifications: Clear All Notifications");
  log("edits taken back");

  // -- a key: asked for without being shown, tried out, stored
  const secret = "sk-e2e-0123456789abcdef";
  await palette(page, "North: Store an API Key…");
  const quickInput = page.locator(".quick-input-widget input.input");
  await quickInput.fill("openai");
  await page.locator(".quick-input-list .monaco-list-row.focused", { hasText: "OpenAI" }).waitFor();
  await page.keyboard.press("Enter");
  await page.locator('.quick-input-widget input[type="password"]').fill(secret);
  await page.keyboard.press("Enter");
  await page.locator(".monaco-dialog-box").getByRole("button", { name: "Store It All the Same" }).click();
  await notification(page, "North has stored the key …cdef of OpenAI.").waitFor();
  assert.ok((await readFile(path.join(data, "agent.db"))).includes(secret));
  assert.ok(!(await page.content()).includes(secret));
  await palette(page, "Notifications: Clear All Notifications");
  log("a key stored");

  // -- a proposal leaves the file alone that is being written in
  await chat.send("explain greet");
  await chat.frame.locator("#stop").waitFor();
  await chat.send('replace "LATER" by "OTHER" in hello/many.py');
  await chat.frame.locator("#queue li").waitFor();
  await editor.locator(".view-line").first().click();
  await page.keyboard.press("End");
  await notification(page, "North proposes to change many.py.").waitFor();
  assert.equal(await diffTab.count(), 0);
  await screenshot(page, "extension-5d-offered");
  await notification(page, "North proposes to change many.py.").getByText("Show Changes").click();
  await diffTab.waitFor();
  await palette(page, "North: Reject");
  await diffTab.waitFor({ state: "detached" });
  await notification(page, "North proposes to change many.py.").waitFor({ state: "detached" });
  await chat.idle();
  log("a file that is written in stays");

  // -- a command, approved in the chat
  await chat.send("run `echo a-command-that-ran`");
  const approval = chat.question("command");
  await approval.locator("pre", { hasText: "echo a-command-that-ran" }).waitFor();
  await notification(page, "North asks to run echo a-command-that-ran").waitFor();
  const focused = await approval.evaluate((card) => card.contains(document.activeElement));
  assert.equal(focused, false, "no button of an approval may have the focus");
  await screenshot(page, "extension-6-command");
  await approval.getByRole("button", { name: "Run", exact: true }).click();
  await notification(page, "North asks to run").waitFor({ state: "detached" });
  await chat.idle();
  await chat.row("answer").filter({ hasText: "a-command-that-ran" }).first().waitFor();
  log("command approved");

  // -- a command, denied from the palette
  await chat.send("run `touch denied.txt`");
  await approval.waitFor();
  await palette(page, "North: Deny Command");
  await chat.row("command").locator(".decision", { hasText: "Deny" }).waitFor();
  await chat.idle();
  assert.ok(!existsSync(path.join(project, "denied.txt")));
  await screenshot(page, "extension-7-denied");
  log("command denied");

  // -- a turn, stopped; what was queued behind it is given up as well
  await chat.send("explain greet");
  await chat.frame.locator("#stop").waitFor();
  await chat.send("list files");
  await chat.frame.locator("#queue li", { hasText: "list files" }).waitFor();
  await screenshot(page, "extension-8-queued");
  await chat.frame.locator("#stop").click();
  await chat.row("notice").filter({ hasText: "Stopped." }).waitFor();
  await chat.idle();
  assert.equal(await chat.input.inputValue(), "list files", "what was queued is the user's again");
  await chat.frame.locator("#queue").waitFor({ state: "hidden" });
  log("turn stopped");

  // -- words for the turn that runs: at its next step
  await chat.send("explain greet");
  await chat.frame.locator("#steer").waitFor();
  await chat.input.fill("list files");
  await chat.input.press("Alt+Enter");
  await chat.row("user").filter({ hasText: "list files" }).last().waitFor();
  await chat.idle();
  assert.equal(await chat.input.inputValue(), "");
  log("turn steered");

  // -- the mode, switched from the palette by keyboard
  await palette(page, "North: Switch Mode");
  await page.locator(".quick-input-title", { hasText: "North: Switch Mode" }).waitFor();
  await page.keyboard.type("Ask");
  await until("the mode to be chosen", () =>
    page.locator(".quick-input-list .monaco-list-row.focused", { hasText: "Ask" }).count());
  await screenshot(page, "extension-9-mode");
  await page.keyboard.press("Enter");
  await status.filter({ hasText: "North: Ask" }).waitFor();
  await chat.frame.locator("#mode", { hasText: /^Ask$/ }).waitFor();
  log("mode switched");

  // -- a question about the selection
  await editor.locator(".view-line", { hasText: "SALUTATION =" }).click();
  await page.keyboard.press("Home");
  await page.keyboard.press("Shift+End");
  await palette(page, "North: Ask About Selection");
  await chat.frame.locator("#chips .chip.selection", { hasText: "hello/greeting.py:5" }).waitFor();
  await chat.send("explain greet");
  await chat.row("user").filter({ hasText: "hello/greeting.py:5" }).waitFor();
  await chat.frame.locator("#chips .chip.selection").waitFor({ state: "detached" });

  // -- the server, killed in the middle of that turn
  await chat.frame.locator("#stop").waitFor();
  const [pid] = await until("the server's process", async () => {
    const pids = await serverProcesses(data);
    return pids.length === 1 && pids;
  });
  process.kill(pid, "SIGKILL");
  await chat.row("notice").filter({ hasText: "ended unexpectedly in the middle of a turn and was started again" }).waitFor();
  await chat.idle();
  await until("another server process", async () => (await serverProcesses(data)).some((other) => other !== pid));
  await chat.row("user").filter({ hasText: "Good morning" }).waitFor();
  await status.filter({ hasText: "North: Ask" }).waitFor();
  await screenshot(page, "extension-10-crash");
  const before = await chat.row("answer").count();
  await chat.send("list files");
  await until("an answer after the crash", async () => (await chat.row("answer").count()) > before);
  await chat.idle();
  log("crash survived");

  // -- a new chat is empty
  await palette(page, "North: New Chat");
  await until("the rows to be gone", async () => (await chat.rows.count()) === 0);
  await chat.frame.locator("#mode", { hasText: /^Agent$/ }).waitFor();
  log("new chat");
  await rules.check();
} catch (error) {
  const picture = page && (await screenshot(page, "extension-failed"));
  console.error(server ? `${server.output()}\n${await server.logs(/North|remoteexthost/)}` : "");
  console.error(`FAILED: ${error.stack}\nscreenshot: ${picture}`);
  process.exitCode = 1;
} finally {
  await server?.stop();
  await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  log("stopped");
}
