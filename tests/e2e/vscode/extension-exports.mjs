/**
 * Exports in North's extension: a conversation as a file and as a text, from the palette and from the list; and the page
 * itself in a real browser, in light and dark. With words of the names of its cases: only those.
 */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { makeBed } from "./bed.mjs";
import { editorTab, listInput, listRow } from "./controls.mjs";
import { artifacts, notification, palette, screenshot, until } from "./workbench.mjs";

const bed = await makeBed("exports");
bed.useOfflineModel();
const project = await bed.sampleProject();
const { chat, page } = await bed.start({ workspace: project });

async function answered(text) {
  const before = await chat.row("answer").count();
  await chat.send(text);
  await until(`an answer to "${text}"`, async () => (await chat.row("answer").count()) > before);
  await chat.idle();
}

/** Name the file in the save dialog, once it has offered one. */
async function save(file) {
  await page.locator(".quick-input-title", { hasText: "North: Export a Conversation" }).waitFor();
  const offered = /north-\w+\.html$/;
  await until("a name to be offered", async () => offered.test(await listInput(page).inputValue()));
  await until("the name to stay", async () => {
    await listInput(page).fill(file);
    await page.locator(".quick-input-list").waitFor();
    return (await listInput(page).inputValue()) === file;
  });
  await page.keyboard.press("Enter");
}

const text = (file) => readFile(file, "utf8").catch(() => "");

/** Look at an exported page as somebody would who was sent it: it is a file in a browser. */
async function look(file, colorScheme) {
  const view = await page.context().newPage();
  try {
    const asked = [];
    const said = [];
    view.on("request", (request) => asked.push(request.url()));
    view.on("console", (message) => said.push(message.text()));
    view.on("pageerror", (error) => said.push(String(error)));
    await view.setViewportSize({ width: 900, height: 1100 });
    await view.emulateMedia({ colorScheme });
    await view.goto(pathToFileURL(file).href);
    await view.locator("main h2").first().waitFor();
    const colors = await view.evaluate(() => {
      const { backgroundColor, color } = getComputedStyle(document.body);
      return { backgroundColor, color, added: getComputedStyle(document.querySelector(".diff .added") ?? document.body).backgroundColor };
    });
    const wide = await view.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
    const shown = await view.locator("body").innerText();
    await view.screenshot({ path: path.join(artifacts, `exports-page-${colorScheme}.png`) });
    await view.evaluate(() => document.querySelectorAll("details").forEach((one) => (one.open = true)));
    await view.screenshot({ path: path.join(artifacts, `exports-page-${colorScheme}-open.png`), fullPage: true });
    return { asked, said, colors, wide, shown };
  } finally {
    await view.close();
  }
}

const file = path.join(project, "talk.html");

await bed.each({
  async "an empty chat has nothing to export, and says so"() {
    await palette(page, "North: Export Conversation…");
    await save(path.join(project, "nothing.html"));
    await notification(page, "nothing to export yet").waitFor();
    assert.equal(await text(path.join(project, "nothing.html")), "");
  },

  async "the conversation is exported from the palette, to the file that the dialog names"() {
    await answered("explain greet");
    await chat.send('replace "Hello" by "Good morning" in hello/greeting.py');
    await chat.question("edit").getByRole("button", { name: "Accept", exact: true }).click();
    await chat.idle();
    await palette(page, "North: Export Conversation…");
    await save(file);
    await notification(page, "The conversation was exported to talk.html").waitFor();
    await screenshot(page, "exports-1-done");
    const exported = await text(file);
    assert.match(exported, /<span class="added">\+SALUTATION = &quot;Good morning&quot;<\/span>/);
    assert.doesNotMatch(exported, /<script/i);
    await notification(page, "The conversation was exported to talk.html").getByRole("button", { name: "Open" }).click();
    await editorTab(page, "talk.html").waitFor();
  },

  async "a file that exists is replaced only after asking"() {
    await writeFile(file, "mine");
    await palette(page, "North: Export Conversation…");
    await save(file);
    const question = page.locator(".quick-input-widget", { hasText: "already exists" });
    await question.waitFor();
    await screenshot(page, "exports-2-exists");
    assert.equal(await text(file), "mine");
    await question.getByRole("button", { name: "OK" }).click();
    await until("the file to be replaced", async () => (await text(file)).includes("explain greet"));
  },

  async "the page reads well in a browser, in light and dark, and asks for nothing"() {
    const light = await look(file, "light");
    const dark = await look(file, "dark");
    for (const { asked, said, wide, shown } of [light, dark]) {
      assert.deepEqual(asked.filter((url) => !url.startsWith("file:") && !url.startsWith("data:")), []);
      assert.deepEqual(said, []);
      assert.equal(wide, false, "it has to be scrolled sideways");
      for (const words of ["explain greet", "is defined in", "Good morning", "System prompt"]) assert.ok(shown.includes(words), words);
    }
    const brightness = (color) => color.match(/\d+/g).slice(0, 3).reduce((sum, one) => sum + Number(one), 0) / 3;
    assert.ok(brightness(light.colors.backgroundColor) > 240 && brightness(light.colors.color) < 60, JSON.stringify(light.colors));
    assert.ok(brightness(dark.colors.backgroundColor) < 40 && brightness(dark.colors.color) > 200, JSON.stringify(dark.colors));
    assert.notEqual(light.colors.added, dark.colors.added);
  },

  async "the list exports a conversation that is not open"() {
    await palette(page, "North: New Chat");
    await until("the rows to be gone", async () => (await chat.rows.count()) === 0);
    await palette(page, "North: Show Conversations…");
    const row = listRow(page, "explain greet");
    await row.hover();
    await row.locator('[aria-label="Export…"]').click();
    const markdown = path.join(project, "stored.md");
    await save(markdown);
    await until("the file", async () => (await text(markdown)).includes("## You"));
    assert.equal(await chat.rows.count(), 0, "it stays closed");
  },

  async "the text is shown in an editor that belongs to no file"() {
    await answered("list files");
    await palette(page, "North: Show Conversation as Text");
    await editorTab(page, "Untitled").waitFor();
    await until("the text", async () => (await page.locator(".editor-group-container.active .view-lines").innerText()).includes("list"));
    await screenshot(page, "exports-3-text");
  },
});
