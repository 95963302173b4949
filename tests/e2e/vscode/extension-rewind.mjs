/**
 * Going back in a conversation of North's extension: to a message with its files, to edit and send it again, on the tree,
 * and copies. Packed, with the real server and the offline model. With words of the names of its cases: only those.
 */
import assert from "node:assert/strict";
import { readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";

import { makeBed } from "./bed.mjs";
import { Chat } from "./chat.mjs";
import * as controls from "./controls.mjs";
import { palette, screenshot, until, webview } from "./workbench.mjs";

const bed = await makeBed("rewind");
bed.useOfflineModel();
const project = await bed.sampleProject();
const greeting = path.join(project, "hello/greeting.py");
const { page } = await bed.start({ workspace: project });
const chat = new Chat(page, webview(page, "north.north", "view"));

const FIRST = 'replace "Hello" by "Good morning" in hello/greeting.py';
const SECOND = 'replace "stranger" by "friend" in hello/greeting.py';

const rowsOf = (text) => controls.listRow(page, text);
const dialog = () => controls.dialog(page);
const inTab = () => new Chat(page, webview(page, "north.north", "tab"));
const prompt = (chat, text) => chat.row("user").filter({ hasText: text });
const act = (chat, text, name) => prompt(chat, text).getByRole("button", { name, exact: true }).click();
const answer = (name) => dialog().getByRole("button", { name, exact: true }).click();
const file = () => readFile(greeting, "utf8");
const said = async (chat) => (await chat.row("user").allTextContents()).map((text) => text.trim());

const original = await file();

/** Two turns, each with an edit that is accepted. */
async function twoEdits(chat) {
  await writeFile(greeting, original);
  await chat.renew();
  for (const text of [FIRST, SECOND]) {
    await chat.send(text);
    await chat.decide("edit", "Accept");
    await prompt(chat, text).getByRole("button", { name: "Rewind to Here…" }).waitFor({ state: "attached" });
    await chat.idle();
  }
  await until("the rows of what changed", async () => (await chat.row("changes").count()) === 2);
}

const cases = {
  async "rewinding to a message takes its turn back, with the files if the user says so"() {
    await twoEdits(chat);
    const after = await file();
    await prompt(chat, SECOND).hover();
    await screenshot(page, "rewind-1-buttons");
    await act(chat, SECOND, "Rewind to Here…");
    await dialog().filter({ hasText: "Restore the files as they were, too?" }).filter({ hasText: "hello/greeting.py" }).waitFor();
    await screenshot(page, "rewind-2-files");
    await page.keyboard.press("Escape");
    await dialog().waitFor({ state: "detached" });
    assert.equal(await file(), after, "nothing is done without an answer");
    await act(chat, SECOND, "Rewind to Here…");
    await answer("Conversation and Files");
    await until("the second message to be gone", async () => (await prompt(chat, SECOND).count()) === 0);
    assert.equal(await file(), original.replace('"Hello"', '"Good morning"'));
    await until("its text in the input", async () => (await chat.input.inputValue()) === SECOND);
    await chat.row("changes").filter({ hasText: "Changed 1 file" }).getByRole("button", { name: "Undo" }).waitFor();
    assert.equal(await chat.row("changes").count(), 1, "what the left turn changed is not shown");
    assert.equal(await chat.row("tool").filter({ hasText: "Edited greeting.py" }).count(), 1);
    await screenshot(page, "rewind-3-back");
    await chat.input.fill("");
    await chat.ask("find SALUTATION");
    assert.deepEqual(await said(chat), [FIRST, "find SALUTATION"]);
  },

  async "the tree goes to a branch that was left, and back"() {
    await palette(page, "North: Conversation Tree…");
    await rowsOf(`You: ${SECOND}`).waitFor();
    await screenshot(page, "rewind-4-tree");
    const input = page.locator(".quick-input-widget input.input");
    await input.fill("friend");
    await rowsOf("I replaced").first().click();
    await dialog().waitFor();
    await answer("Conversation and Files");
    await prompt(chat, SECOND).waitFor();
    assert.ok((await file()).includes('"friend"'));
    await until("the rows of what changed", async () => (await chat.row("changes").count()) === 2);
  },

  async "a message is edited and sent again: what came after it is gone from the view"() {
    await twoEdits(chat);
    await act(chat, FIRST, "Edit and Resend");
    await until("its text in the input", async () => (await chat.input.inputValue()) === FIRST);
    await chat.frame.locator("#editing").getByText("You are editing an earlier message").waitFor();
    await screenshot(page, "rewind-5-editing");
    assert.deepEqual(await said(chat), [FIRST, SECOND], "nothing is done before it is sent");
    await chat.frame.locator("#editing").getByRole("button", { name: "Cancel" }).click();
    await chat.frame.locator("#editing").waitFor({ state: "hidden" });
    await chat.input.fill("");
    await act(chat, FIRST, "Edit and Resend");
    await until("its text in the input", async () => (await chat.input.inputValue()) === FIRST);
    await chat.send("find greet");
    await dialog().filter({ hasText: "Restore the files as they were, too?" }).waitFor();
    assert.equal(await dialog().getByRole("button", { name: "Files Only" }).count(), 0);
    await page.keyboard.press("Escape");
    await until("the text to be in the input again", async () => (await chat.input.inputValue()) === "find greet");
    await chat.input.press("Enter");
    await answer("Conversation Only");
    await prompt(chat, "find greet").waitFor();
    await until("an answer", async () => (await chat.row("answer").count()) > 0);
    await chat.idle();
    assert.deepEqual(await said(chat), ["find greet"]);
    assert.ok((await file()).includes('"friend"'), "the files stay");
    await chat.frame.locator("#editing").waitFor({ state: "hidden" });
    await screenshot(page, "rewind-6-resent");
  },

  async "a branch and a fork open in tabs beside the conversation"() {
    await chat.ask("list files");
    await act(chat, "list files", "Branch from Here");
    const tab = inTab();
    await prompt(tab, "find greet").waitFor();
    await until("the message in its input", async () => (await tab.input.inputValue()) === "list files");
    assert.deepEqual(await said(tab), ["find greet"]);
    await screenshot(page, "rewind-7-branch");
    assert.deepEqual(await said(chat), ["find greet", "list files"]);
    await tab.input.fill("");
    await tab.ask("find stranger");
    await palette(page, "View: Close Editor");
    await palette(page, "North: Show Chat");
    await chat.input.focus();
    await palette(page, "North: Fork Conversation");
    await prompt(tab, "list files").waitFor();
    assert.deepEqual(await said(tab), ["find greet", "list files"]);
    await palette(page, "View: Close Editor");
    await palette(page, "North: Show Conversations…");
    await rowsOf("Fork: replace").waitFor();
    await screenshot(page, "rewind-8-list");
    await page.keyboard.press("Escape");
  },

  async "slash commands show it anew as well, and the keyboard reaches the buttons and the menu"() {
    await chat.input.focus();
    await chat.send("/rewind 2");
    await until("the text in the input", async () => (await chat.input.inputValue()) === "list files");
    await until("the second message to be gone", async () => !(await said(chat)).includes("list files"));
    await chat.row("answer").filter({ hasText: "The conversation continues from before this prompt" }).waitFor();
    await chat.input.fill("");
    const buttons = prompt(chat, "find greet").locator(".acts button");
    await buttons.first().focus();
    await page.keyboard.press("Tab");
    assert.equal(await buttons.nth(1).evaluate((one) => document.activeElement === one), true);
    assert.equal(await prompt(chat, "find greet").locator(".acts").evaluate((one) => getComputedStyle(one).opacity), "1");
    await prompt(chat, "find greet").click({ button: "right" });
    const menu = page.locator(".context-view .monaco-menu, .monaco-menu-container");
    await menu.getByText("Branch from Here").waitFor();
    await screenshot(page, "rewind-9-menu");
    await menu.getByText("Edit and Resend…").click();
    await until("its text in the input", async () => (await chat.input.inputValue()) === "find greet");
    await chat.frame.locator("#editing").getByRole("button").click();
    await chat.input.fill("");
  },
};

await bed.each(cases, { recover: () => page.keyboard.press("Escape") });
