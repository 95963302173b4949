/**
 * Conversations in North's extension: they outlive a reload of the window, several are open at once, stored ones are
 * found again; and what is chosen for them. Packed, with the real server and the offline model.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { Chat } from "./chat.mjs";
import { checkout, guard, packedExtension, userDataFor } from "./packed.mjs";
import { notification, palette, screenshot, startServer, until, webview } from "./workbench.mjs";

const north = process.env.NORTH_E2E_SERVER ?? path.join(checkout, ".venv/bin/north-lsp");

const started = performance.now();
const log = (what) => console.log(`${what} (${((performance.now() - started) / 1000).toFixed(1)} s)`);

const folder = await mkdtemp(path.join(tmpdir(), "north-e2e-conversations-"));
const project = path.join(folder, "sample");
await cp(path.join(checkout, "north_lsp/cli/demo/sample"), project, { recursive: true });
for (const name of ["config", "data", "state"]) await mkdir(path.join(folder, name));
const rules = guard(folder);
const env = {
  ...rules.env,
  NORTH_CONFIG_DIR: path.join(folder, "config"),
  NORTH_DATA_DIR: path.join(folder, "data"),
  NORTH_STATE_DIR: path.join(folder, "state"),
  NORTH_MODEL: "offline",
  NORTH_OFFLINE_DELAY_MS: "40",
  // Never asked anything: other models are there to be chosen.
  ANTHROPIC_API_KEY: "sk-ant-e2e",
  ANTHROPIC_BASE_URL: "http://127.0.0.1:1",
};

let server;
let page;
/** The cases after a failed one are tried as well. */
const failed = [];

const rowsOf = (text) => page.locator(".quick-input-list .monaco-list-row", { hasText: text });
const focusedRow = (text) => page.locator(".quick-input-list .monaco-list-row.focused", { hasText: text });
const listInput = () => page.locator(".quick-input-widget input.input");
const dialog = () => page.locator(".monaco-dialog-box");
const editorTab = (text) => page.locator(".tabs-container .tab", { hasText: text });
const inTab = () => new Chat(page, webview(page, "north.north", "tab"));

async function reload() {
  await page.evaluate(() => (window.beforeReload = true));
  await palette(page, "Developer: Reload Window").catch(() => undefined); // the list may go with the window
  await until("the window to be made again", async () => !(await page.evaluate(() => window.beforeReload).catch(() => true)));
  await page.locator(".monaco-workbench .statusbar").waitFor();
}

const newChat = (chat) => chat.renew();

async function answered(chat, text) {
  const before = await chat.row("answer").count();
  await chat.send(text);
  await until(`an answer to "${text}"`, async () => (await chat.row("answer").count()) > before);
  await chat.idle();
}

const cases = {
  async "the empty chat says what can be asked, and an example is put into the input"(chat) {
    const welcome = chat.frame.locator("#welcome");
    await welcome.getByRole("button", { name: "Add an API Key" }).waitFor();
    await screenshot(page, "conversations-1-welcome");
    await welcome.getByRole("button", { name: "list files" }).click();
    await until("the example in the input", async () => (await chat.input.inputValue()) === "list files");
    assert.equal(await chat.rows.count(), 0, "nothing is sent");
    await welcome.getByRole("button", { name: "Add an API Key" }).click();
    await page.locator(".quick-input-title", { hasText: "North: Store an API Key" }).waitFor();
    await page.keyboard.press("Escape");
    await answered(chat, "list files");
    await welcome.waitFor({ state: "hidden" });
  },

  async "what is chosen stands below the input, on one line, its name whole, and holds for the running conversation"(chat) {
    const button = (id) => chat.frame.locator(`#${id}`);
    for (const id of ["mode", "model", "approvals", "usage"]) await button(id).waitFor();
    const boxes = await Promise.all(["mode", "model", "approvals", "usage"].map((id) => button(id).boundingBox()));
    const tops = boxes.slice(0, 3).map((box) => box.y); // the use may stand below: the model's name is not cut for it
    assert.ok(Math.max(...tops) - Math.min(...tops) < 4, JSON.stringify(boxes));
    assert.ok(Math.max(...boxes.map((box) => box.height)) < 30, "wrapped");
    await screenshot(page, "conversations-2-pickers");

    await button("model").click();
    await page.locator(".quick-input-title", { hasText: "North: Switch Model" }).waitFor();
    await listInput().fill("sonnet");
    await focusedRow("Sonnet").waitFor();
    await screenshot(page, "conversations-3-models");
    await page.keyboard.press("Enter");
    await button("model").filter({ hasText: "Sonnet" }).waitFor();
    await until("the cursor in the input", () => chat.input.evaluate((input) => input === document.activeElement && document.hasFocus()));
    await button("thought_level").click();
    await rowsOf("High").first().click();
    await button("thought_level").filter({ hasText: /^(Extra h|H)igh$/ }).waitFor();
    await screenshot(page, "conversations-4-thinking");
    await palette(page, "North: Switch Model");
    await listInput().fill("offline");
    await focusedRow("ffline").waitFor();
    await page.keyboard.press("Enter");
    await button("thought_level").waitFor({ state: "hidden" });

    await button("approvals").filter({ hasText: "Asks first" }).click();
    await rowsOf("Run").first().click();
    await dialog().filter({ hasText: "Run commands in this project without asking?" }).waitFor();
    await screenshot(page, "conversations-5-approvals");
    await page.keyboard.press("Enter"); // the button that has the focus allows nothing
    await dialog().waitFor({ state: "detached" });
    await button("approvals").filter({ hasText: "Asks first" }).click();
    await rowsOf("Run").first().click();
    await dialog().getByRole("button", { name: "Run Commands" }).click();
    await chat.frame.locator("#permitted", { hasText: "all commands" }).waitFor();
    await page.locator('.statusbar-item[id*="north.permissions"]', { hasText: "all commands" }).waitFor();
    await palette(page, "North: Switch What Is Asked");
    await rowsOf("Review").last().click();
    await button("approvals").filter({ hasText: "Asks first" }).waitFor();

    await button("usage").click();
    await chat.frame.locator("#usage-rows dt", { hasText: "Context" }).waitFor();
    await chat.frame.locator("#usage-rows dt", { hasText: "Input" }).waitFor();
    await screenshot(page, "conversations-6-usage");
    await page.keyboard.press("Escape");
    await chat.frame.locator("#usage-rows").waitFor({ state: "hidden" });
  },

  async "/continue opens what this window showed last, and not what another one wrote since"(chat) {
    await newChat(chat);
    await answered(chat, "list files");
    const header = { type: "conversation_started", version: 4, id: "0ther2", repoRoot: project, repoHash: "0".repeat(16), cwd: project };
    const message = { role: "user", content: [{ type: "text", text: "about koalas" }] };
    const lines = [header, { type: "message", id: "00000001", parentId: null, timestamp: "2099-01-01T00:00:00.000Z", message }];
    const other = path.join(folder, "data/conversations/0ther2.jsonl");
    await writeFile(other, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    await newChat(chat);
    await chat.send("/continue");
    await chat.row("user").filter({ hasText: "list files" }).waitFor();
    await screenshot(page, "conversations-13-continue");
    assert.equal(await chat.row("user").filter({ hasText: "about koalas" }).count(), 0);
    await rm(other);
  },

  async "Escape stops the turn, and what was queued comes back into the input"(chat) {
    await chat.send("explain greet");
    await chat.frame.locator("#stop").waitFor();
    await chat.send("list files");
    await chat.frame.locator("#queue li", { hasText: "list files" }).waitFor();
    await chat.input.fill("what I am writing");
    await chat.input.press("Escape");
    await chat.row("notice").filter({ hasText: "Stopped." }).last().waitFor();
    await chat.idle();
    await until("what was queued in the input", async () => (await chat.input.inputValue()) === "list files\n\nwhat I am writing");
    const answers = await chat.row("answer").allTextContents();
    assert.ok(!answers.some((text) => text.includes("[Cancelled]")), answers.join("\n"));
    await screenshot(page, "conversations-7-stopped");
    await chat.input.fill("");
  },

  async "another view in the same place does not change the place in the conversation"(chat) {
    for (let index = 0; index < 3; index += 1) await answered(chat, "explain greet");
    const rows = chat.frame.locator("#rows");
    await rows.evaluate((list) => (list.scrollTop = 40));
    await chat.frame.locator("body").evaluate(() => (window.sameOne = true));
    await palette(page, "View: Show Explorer");
    await page.locator(".explorer-folders-view").waitFor();
    await palette(page, "North: Show Chat");
    await rows.waitFor();
    await until("the place in the conversation", () => rows.evaluate((list) => list.scrollTop === 40));
    assert.equal(await chat.frame.locator("body").evaluate(() => window.sameOne), true, "the page was made anew");
  },

  async "a reload of the window goes on with the conversation"(chat) {
    await newChat(chat);
    await answered(chat, "find SALUTATION");
    const shown = await chat.rows.allTextContents();
    await reload();
    await chat.row("user").filter({ hasText: "find SALUTATION" }).waitFor();
    await until("the same rows", async () => (await chat.rows.allTextContents()).length >= shown.length);
    await chat.frame.locator("#usage").waitFor();
    await screenshot(page, "conversations-8-reloaded");
    await answered(chat, "list files");
    assert.equal(await chat.row("notice").count(), 0, (await chat.row("notice").allTextContents()).join("\n"));
  },

  async "a reload in the middle of a turn: it goes on, and what waited as well"(chat) {
    await chat.send("explain greet");
    await chat.frame.locator("#stop").waitFor();
    await until("some of the answer", async () => ((await chat.row("answer").last().textContent()) ?? "").length > 20);
    const some = ((await chat.row("answer").last().textContent()) ?? "").slice(0, 20);
    await chat.send("find greet");
    await chat.frame.locator("#queue li", { hasText: "find greet" }).waitFor();
    await reload();
    await chat.row("user").filter({ hasText: "explain greet" }).waitFor();
    await chat.row("answer").filter({ hasText: some }).last().waitFor();
    await screenshot(page, "conversations-9-reloaded-turn");
    // It had its turn before the window was gone, or it is the user's again.
    const sent = () => chat.row("user").filter({ hasText: "find greet" }).count();
    await until("what waited", async () => (await sent()) === 1 || (await chat.input.inputValue()) === "find greet");
    await chat.idle();
    if ((await sent()) === 0) await chat.input.press("Enter");
    await chat.row("user").filter({ hasText: "find greet" }).waitFor();
    await until("its answer", async () => (await chat.rows.last().getAttribute("class"))?.includes("answer"));
    await chat.idle();
    await answered(chat, "list files");
  },

  async "a reload while an edit waits: it is asked again, and nothing is written before"(chat) {
    const greeting = path.join(project, "hello/greeting.py");
    const before = await readFile(greeting, "utf8");
    const ask = 'replace "Hello" by "Good morning" in hello/greeting.py';
    await newChat(chat);
    await chat.send(ask);
    await chat.question("edit").waitFor();
    const buttons = await Promise.all(["stop", "send"].map((id) => chat.frame.locator(`#${id}`).boundingBox()));
    assert.ok(Math.abs(buttons[0].y - buttons[1].y) < 4, "the buttons need a second line");
    await reload();
    await chat.row("user").filter({ hasText: "Good morning" }).waitFor();
    await chat.question("edit").waitFor();
    await screenshot(page, "conversations-10-reloaded-review");
    assert.equal(await readFile(greeting, "utf8"), before);
    await chat.question("edit").getByRole("button", { name: "Reject", exact: true }).click();
    await chat.idle();
    assert.equal(await readFile(greeting, "utf8"), before);
  },

  async "stored conversations are found by a word of their title, renamed, gone on with and deleted"(chat) {
    await newChat(chat);
    await answered(chat, "find farewell");
    await newChat(chat);
    await answered(chat, "find stranger");
    await palette(page, "North: Show Conversations…");
    await rowsOf("find farewell").waitFor();
    await rowsOf("find stranger").filter({ hasText: "in the side bar" }).waitFor();
    await screenshot(page, "conversations-11-list");
    await listInput().fill("farewell");
    await until("the others to be left out", async () => (await rowsOf("find stranger").count()) === 0);
    const act = async (text, action) => {
      await rowsOf(text).hover();
      await rowsOf(text).locator(`[aria-label="${action}"]`).click();
    };
    await act("find farewell", "Rename");
    await page.locator(".quick-input-title", { hasText: "North: Rename a Conversation" }).waitFor();
    await until("its name to be offered", async () => (await listInput().inputValue()) === "find farewell");
    await listInput().fill("The words of parting");
    await page.keyboard.press("Enter");
    await rowsOf("The words of parting").click();
    await chat.row("user").filter({ hasText: "find farewell" }).waitFor();
    await until("the other rows to be gone", async () => (await chat.row("user").filter({ hasText: "find stranger" }).count()) === 0);
    await answered(chat, "list files");
    await palette(page, "North: Show Conversations…");
    await rowsOf("The words of parting").filter({ hasText: "in the side bar" }).waitFor();
    await act("find stranger", "Delete");
    await dialog().filter({ hasText: "find stranger" }).getByRole("button", { name: "Delete" }).click();
    await rowsOf("The words of parting").waitFor();
    await rowsOf("find stranger").first().waitFor({ state: "detached" });
    await page.keyboard.press("Escape");
  },

  async "a deleted conversation comes back, and one of another folder is copied into this one"(chat) {
    await palette(page, "North: Restore a Deleted Conversation…");
    await focusedRow("find stranger").waitFor();
    await focusedRow("deleted now").waitFor();
    await screenshot(page, "conversations-9-trash");
    await page.keyboard.press("Enter");
    await chat.row("user").filter({ hasText: "find stranger" }).waitFor();
    await palette(page, "North: Restore a Deleted Conversation…");
    await notification(page, "there is no conversation in the trash").waitFor();

    const other = path.join(folder, "other");
    await mkdir(other);
    const header = { type: "conversation_started", version: 4, id: "0ther1", repoRoot: other, repoHash: "0".repeat(16), cwd: other };
    const message = { role: "user", content: [{ type: "text", text: "about quokkas" }] };
    const title = { type: "title_changed", id: "00000002", title: "about quokkas", titleSource: "auto" };
    const lines = [header, { type: "message", id: "00000001", parentId: null, message }, title];
    const stored = path.join(folder, "data/conversations");
    await writeFile(path.join(stored, "0ther1.jsonl"), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    await palette(page, "North: Show Conversations…");
    await page.locator(".quick-input-titlebar .codicon-globe").click();
    await listInput().fill("quokkas");
    await focusedRow("about quokkas").waitFor();
    await page.keyboard.press("Enter");
    await dialog().filter({ hasText: `This conversation is about ${other}.` }).waitFor();
    await screenshot(page, "conversations-9-other-folder");
    await dialog().getByRole("button", { name: "Copy It into This Folder" }).click();
    await inTab().row("user").filter({ hasText: "about quokkas" }).waitFor();
    await editorTab("about quokkas").locator(".tab-actions .action-label").click();
    await editorTab("about quokkas").waitFor({ state: "detached" });
    await rm(path.join(stored, "0ther1.jsonl"));
  },

  async "one whose folder is gone goes on here, or where the user says that its folder is"(chat) {
    const stored = path.join(folder, "data/conversations");
    const gone = path.join(folder, "gone");
    const renamed = path.join(folder, "renamed");
    await mkdir(renamed);
    const put = async (id, words) => {
      const header = { type: "conversation_started", version: 4, id, repoRoot: gone, repoHash: "0".repeat(16), cwd: gone };
      const message = { role: "user", content: [{ type: "text", text: words }] };
      const title = { type: "title_changed", id: "00000002", title: words, titleSource: "auto" };
      const lines = [header, { type: "message", id: "00000001", parentId: null, message }, title];
      await writeFile(path.join(stored, `${id}.jsonl`), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    };
    const ask = async (words) => {
      await palette(page, "North: Show Conversations…");
      await page.locator(".quick-input-titlebar .codicon-globe").click();
      await listInput().fill(words);
      await focusedRow(`about ${words}`).filter({ hasText: gone }).waitFor();
      await page.keyboard.press("Enter");
      await dialog().filter({ hasText: `This conversation is about ${gone}, which is gone.` }).waitFor();
    };
    const movedTo = (id, to) => async () => (await readFile(path.join(stored, `${id}.jsonl`), "utf8")).includes(`"cwd":"${to}"`);

    await put("90ne01", "about numbats");
    await ask("numbats");
    await screenshot(page, "conversations-18-gone");
    await dialog().getByRole("button", { name: "Continue It Here" }).click();
    await chat.row("user").filter({ hasText: "about numbats" }).waitFor();
    assert.equal(await chat.question("choice").count(), 0, "it is asked once");
    await until("the conversation to belong here", movedTo("90ne01", project));

    await put("90ne02", "about wombats");
    await ask("wombats");
    const windows = page.context().waitForEvent("page");
    await dialog().getByRole("button", { name: "Choose Its Folder…" }).click();
    await page.locator(".quick-input-title", { hasText: "North: The Folder of This Conversation" }).waitFor();
    await until("a folder to be offered", async () => (await listInput().inputValue()) === `${project}/`);
    await until("the folder to stay", async () => {
      await listInput().fill(`${renamed}/`);
      return (await listInput().inputValue()) === `${renamed}/`;
    });
    await screenshot(page, "conversations-19-folder");
    await page.locator(".quick-input-widget .quick-input-action, .quick-input-widget .monaco-button", { hasText: "Continue There" }).first().click();
    const opened = await windows;
    await opened.locator(".monaco-workbench .statusbar").waitFor();
    await palette(opened, "North: Show Chat");
    await new Chat(opened, webview(opened, "north.north", "view")).row("user").filter({ hasText: "about wombats" }).waitFor();
    await until("the conversation to belong there", movedTo("90ne02", renamed));
    await screenshot(opened, "conversations-20-there");
    await opened.close();
  },

  async "a word of an old answer finds its conversation, by the keyboard alone; archived ones are hidden"(chat) {
    await newChat(chat);
    await answered(chat, "explain greet");
    await newChat(chat);
    await answered(chat, "list files");
    await palette(page, "North: Show Conversations…");
    await rowsOf("explain greet").first().waitFor();
    await listInput().fill("defined line greet"); // words of the answer, not of the title
    await rowsOf("is defined in").first().waitFor();
    await rowsOf("explain greet").first().filter({ hasText: "messages" }).waitFor();
    await screenshot(page, "conversations-16-search");
    await page.keyboard.press("Enter");
    await chat.row("user").filter({ hasText: "explain greet" }).waitFor();
    await chat.row("answer").filter({ hasText: "is defined in" }).first().waitFor();
    await answered(chat, "find SALUTATION");

    await palette(page, "North: Rename, Archive or Delete a Conversation…");
    await rowsOf("list files").first().waitFor();
    await listInput().fill("list files");
    await until("the one that fits best to be the first", async () => ((await rowsOf("").first().textContent()) ?? "").startsWith("list files"));
    await page.keyboard.press("Enter");
    await rowsOf("Archive").waitFor();
    await listInput().fill("Archive");
    await page.keyboard.press("Enter");
    await page.locator(".quick-input-title", { hasText: "North: Conversations" }).waitFor();
    const count = await rowsOf("list files").count();
    await page.locator('.quick-input-titlebar [aria-label="Show Archived Ones Too"]').click();
    await rowsOf("archived").first().waitFor();
    await until("one more", async () => (await rowsOf("list files").count()) > count);
    await screenshot(page, "conversations-17-archived");
    await page.keyboard.press("Escape");
  },

  async "the arrow key brings back what was sent in other conversations, too"(chat) {
    await newChat(chat);
    await answered(chat, "find SALUTATION");
    await reload();
    await newChat(chat);
    await chat.input.press("ArrowUp");
    await until("the last prompt", async () => (await chat.input.inputValue()) === "find SALUTATION");
    await chat.input.fill("");
  },

  async "a slash command opens another conversation"(chat) {
    await newChat(chat);
    await answered(chat, "list files");
    await chat.send("/new");
    await until("the rows to be gone", async () => (await chat.rows.count()) === 0);
    await chat.ready();
    await answered(chat, "list files");
    await chat.send("/quit");
    await until("the conversation to be closed", async () => (await chat.rows.count()) === 0);
    await chat.ready();
    await answered(chat, "list files");
    // What is sent meanwhile is the user's again, not gone with the conversation that is left.
    await chat.send("explain greet");
    await chat.send("find greet");
    await chat.frame.locator("#queue li", { hasText: "find greet" }).waitFor();
    await palette(page, "North: New Chat");
    await until("what waited in the input", async () => (await chat.input.inputValue()) === "find greet");
    assert.equal(await chat.rows.count(), 0, "it is not sent by itself");
    await chat.input.fill("");
  },

  async "several conversations at once, one in the view, others in tabs that come back after a reload"(chat) {
    await newChat(chat);
    await palette(page, "North: New Chat in an Editor Tab");
    const tab = inTab();
    await tab.frame.locator("#mode", { hasText: /^Agent$/ }).waitFor();
    // Both work at the same time, and neither shows what is the other's.
    await tab.send("explain greet");
    await chat.send("explain farewell");
    await tab.frame.locator("#stop").waitFor();
    await chat.frame.locator("#stop").waitFor();
    await screenshot(page, "conversations-12-two");
    await tab.idle();
    await chat.idle();
    assert.deepEqual(await tab.row("user").allTextContents(), ["explain greet"]);
    assert.deepEqual(await chat.row("user").allTextContents(), ["explain farewell"]);
    await editorTab("explain greet").waitFor();
    // What the tab asks stands in the tab.
    await tab.send("run `echo asked-in-the-tab`");
    await tab.question("command").waitFor();
    assert.equal(await chat.question("command").count(), 0);
    await page.locator(".activitybar .badge-content", { hasText: "1" }).first().waitFor();
    await notification(page, "North asks to run echo asked-in-the-tab").waitFor();
    const status = page.locator('.statusbar-item[id*="north.status"]', { hasText: "waits for you" });
    await screenshot(page, "conversations-13-asks");
    await status.click();
    await tab.question("command").getByRole("button", { name: "Run", exact: true }).click();
    await tab.idle();
    await tab.row("answer").filter({ hasText: "asked-in-the-tab" }).first().waitFor();

    await reload();
    await chat.row("user").filter({ hasText: "explain farewell" }).waitFor();
    await editorTab("explain greet").waitFor();
    await tab.row("user").filter({ hasText: "explain greet" }).waitFor();
    await screenshot(page, "conversations-14-reloaded");
    await answered(tab, "list files");
    await answered(chat, "list files");
  },

  async "a tab that is closed in the middle of a turn comes back when it has a question"(chat) {
    const tab = inTab();
    await tab.send("run `sleep 2 && touch seen.txt`");
    await editorTab("explain greet").click();
    await tab.question("command").waitFor();
    await editorTab("explain greet").locator(".tab-actions .action-label").click();
    await editorTab("explain greet").waitFor({ state: "detached" });
    await page.locator('.statusbar-item[id*="north.status"]', { hasText: "waits for you" }).click();
    await tab.question("command").waitFor();
    await screenshot(page, "conversations-15-back");
    assert.ok(!existsSync(path.join(project, "seen.txt")));
    await tab.question("command").getByRole("button", { name: "Deny", exact: true }).click();
    await tab.idle();
    await editorTab("explain greet").locator(".tab-actions .action-label").click();
    await editorTab("explain greet").waitFor({ state: "detached" });
    await chat.frame.locator("#mode").waitFor();
  },
};

try {
  const vsix = await packedExtension();
  const userData = await userDataFor(path.join(folder, "user-data"), north);
  server = await startServer({ vsix, workspace: project, userData, settings: { "files.autoSave": "off" }, env });
  page = await server.open();
  await palette(page, "North: Show Chat");
  const chat = new Chat(page, webview(page, "north.north", "view"));
  await chat.frame.locator("#mode", { hasText: /^Agent$/ }).waitFor();
  await chat.focused();
  log("chat opened");
  const only = process.argv.slice(2);
  for (const [name, check] of Object.entries(cases)) {
    if (only.length > 0 && !only.some((part) => name.includes(part))) continue;
    try {
      await check(chat);
      log(name);
    } catch (error) {
      failed.push(name);
      console.error(`FAILED: ${name}: ${error.stack}\nscreenshot: ${await screenshot(page, `conversations-failed-${failed.length}`)}`);
      await page.keyboard.press("Escape");
    }
  }
  await rules.check();
  assert.deepEqual(failed, []);
} catch (error) {
  const picture = page && (await screenshot(page, "conversations-failed"));
  console.error(server ? `${server.output()}\n${await server.logs(/North|remoteexthost/)}` : "");
  console.error(`FAILED: ${error.stack}\nscreenshot: ${picture}`);
  process.exitCode = 1;
} finally {
  await server?.stop();
  await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  log("stopped");
}
