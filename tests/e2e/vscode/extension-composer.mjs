/**
 * What the user writes with: an input that grows, earlier messages, completion, attachments, pictures. Packed, with the
 * real server and a model server that keeps what it is sent, which is held to the vendor's rules.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { Chat } from "./chat.mjs";
import { checkout, packedExtension, userDataFor } from "./packed.mjs";
import { scriptedModel } from "./scripted-model.mjs";
import { palette, screenshot, startServer, until } from "./workbench.mjs";

const north = process.env.NORTH_E2E_SERVER ?? path.join(checkout, ".venv/bin/north-lsp");
const started = performance.now();
const log = (what) => console.log(`${what} (${((performance.now() - started) / 1000).toFixed(1)} s)`);

const folder = await mkdtemp(path.join(tmpdir(), "north-e2e-composer-"));
const project = path.join(folder, "sample");
await cp(path.join(checkout, "north_lsp/cli/demo/sample"), project, { recursive: true });
for (const name of ["config", "data", "state", "home"]) await mkdir(path.join(folder, name));

/** Answers at once, or never to its end where the prompt says "slow". */
const model = await scriptedModel(folder, (body) => JSON.stringify(body.messages.at(-1)).includes("slow"));
const { requests } = model;

const env = {
  ...model.env,
  HOME: path.join(folder, "home"),
  NORTH_CONFIG_DIR: path.join(folder, "config"),
  NORTH_DATA_DIR: path.join(folder, "data"),
  NORTH_STATE_DIR: path.join(folder, "state"),
};

let server;
let page;
/** One that fails does not keep the others from being looked at. */
let failed = 0;

const value = (chat) => chat.input.inputValue();
const option = (chat, text) => chat.frame.locator("#offers [role=option]", { hasText: text });
const chip = (chat, kind) => chat.frame.locator(`#chips .chip.${kind}`);
const height = (chat) => chat.input.evaluate((input) => input.getBoundingClientRect().height);
const lastWords = () => requests.at(-1).messages.filter(({ role }) => role === "user").at(-1).content;
const textOf = (content) => content.filter(({ type }) => type === "text").map(({ text }) => text).join("\n");

async function answered(chat, act) {
  const before = requests.length;
  await act();
  await until("the model to be asked", () => requests.length > before);
  await chat.idle();
  return lastWords();
}

async function openFile(name) {
  await until("the list of files", async () => {
    await page.keyboard.press("F1"); // without its ">" the palette lists files
    return page.locator(".quick-input-widget input.input").fill(name, { timeout: 2_000 }).then(() => true, () => false);
  });
  await page.locator(".quick-input-list .monaco-list-row.focused", { hasText: path.basename(name) }).waitFor();
  await page.keyboard.press("Enter");
  await page.locator(".tabs-container .tab.active", { hasText: path.basename(name) }).waitFor();
}

/** From the beginning of a line that has a text, down to the beginning of another. */
async function selectLines(text, count) {
  await page.locator(".editor-instance .view-line", { hasText: text }).first().click();
  await page.keyboard.press("Home");
  for (let line = 0; line < count; line += 1) await page.keyboard.press("Shift+ArrowDown");
}

/** A picture, drawn in the page, as it comes with an event of the page. */
async function bring(chat, event, { width = 40, height = 30, broken = false, type = "image/png" } = {}) {
  await chat.input.evaluate(
    async (input, [event, width, height, broken, type]) => {
      const canvas = document.createElement("canvas");
      Object.assign(canvas, { width, height });
      const context = canvas.getContext("2d");
      context.fillStyle = "teal";
      context.fillRect(0, 0, width, height / 2);
      const blob = broken ? new Blob(["no picture"]) : await new Promise((resolve) => canvas.toBlob(resolve, type));
      const data = new DataTransfer();
      data.items.add(new File([blob], "picture.png", { type }));
      const options = { bubbles: true, cancelable: true };
      if (event === "paste") input.dispatchEvent(new ClipboardEvent("paste", { ...options, clipboardData: data }));
      else input.dispatchEvent(new DragEvent("drop", { ...options, dataTransfer: data }));
    },
    [event, width, height, broken, type],
  );
}

const cases = {
  async "the input grows with wrapped text, up to a third of the panel"(chat) {
    const low = await height(chat);
    await chat.input.fill("many words ".repeat(12));
    const middle = await height(chat);
    assert.ok(middle > low * 1.5, `${low} → ${middle}`);
    await chat.input.fill("many words ".repeat(900));
    const [high, panel] = [await height(chat), await chat.frame.locator("body").evaluate(() => window.innerHeight)];
    assert.ok(high > middle && high <= panel / 3 + 2, `${high} of ${panel}`);
    await screenshot(page, "composer-1-grown");
    await chat.input.fill("");
    assert.equal(await height(chat), low);
  },

  async "earlier messages come back with the arrows at the ends of the text"(chat) {
    await answered(chat, () => chat.send("the first"));
    await answered(chat, () => chat.send("the second, a long one with many words, so that it is wrapped in the narrow panel that it stands in"));
    await chat.input.fill("a draft");
    await chat.input.press("ArrowUp"); // to the beginning
    assert.equal(await value(chat), "a draft");
    await chat.input.press("ArrowUp");
    await until("the second", async () => (await value(chat)).startsWith("the second"));
    await chat.input.press("ArrowUp");
    await until("the first", async () => (await value(chat)) === "the first");
    await chat.input.press("ArrowUp");
    assert.equal(await value(chat), "the first");
    await chat.input.press("Control+End");
    await chat.input.press("ArrowDown");
    await chat.input.press("ArrowDown");
    await until("the draft", async () => (await value(chat)) === "a draft");
    await chat.input.fill("");
  },

  async "Shift+Enter makes a line, and an input method's Enter sends nothing"(chat) {
    const before = requests.length;
    await chat.input.fill("one");
    await chat.input.press("Shift+Enter");
    await chat.input.pressSequentially("two");
    assert.equal(await value(chat), "one\ntwo");
    for (const init of [{ isComposing: true }, { keyCode: 229 }]) {
      const prevented = await chat.input.evaluate((input, init) => {
        const event = new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true, ...init });
        input.dispatchEvent(event);
        return event.defaultPrevented;
      }, init);
      assert.equal(prevented, false);
    }
    assert.equal(await value(chat), "one\ntwo");
    assert.equal(requests.length, before);
    await chat.input.fill("");
  },

  async "Esc closes what is offered, and only then stops the turn"(chat) {
    await chat.send("be slow");
    await chat.frame.locator("#stop").waitFor();
    await chat.input.pressSequentially("/");
    await option(chat, "/help").waitFor();
    await chat.input.press("Escape");
    await option(chat, "/help").waitFor({ state: "detached" });
    await chat.frame.locator("#stop").waitFor();
    assert.equal(await value(chat), "/");
    await chat.input.press("Escape");
    await chat.idle();
    await chat.row("notice").filter({ hasText: "Stopped." }).waitFor();
    await chat.input.fill("");
  },

  async "slash commands are completed, with what they do"(chat) {
    await chat.input.pressSequentially("/");
    await until("the commands", async () => (await chat.frame.locator("#offers [role=option]").count()) > 10);
    assert.equal(await chat.input.getAttribute("aria-expanded"), "true");
    await screenshot(page, "composer-2-commands");
    await chat.input.pressSequentially("perm");
    const chosen = chat.frame.locator("#offers [role=option][aria-selected=true]");
    await chosen.filter({ hasText: "/permissions" }).waitFor();
    assert.equal(await chat.input.getAttribute("aria-activedescendant"), await chosen.getAttribute("id"));
    assert.ok((await chosen.locator(".detail").textContent()).length > 10);
    await chat.input.press("Enter");
    assert.equal(await value(chat), "/permissions ");
    assert.equal(await chat.input.getAttribute("aria-expanded"), "false");
    await chat.input.press("Enter");
    await chat.row("user").filter({ hasText: "/permissions" }).waitFor();
    await chat.idle();
    // One that is written out is sent at once.
    const rows = await chat.row("answer").count();
    await chat.input.pressSequentially("/help");
    await option(chat, "/help").waitFor();
    await chat.input.press("Enter");
    await until("the help", async () => (await chat.row("answer").count()) > rows);
    await chat.idle();
  },

  async "files and folders are completed behind an @, but no closed ones"(chat) {
    await writeFile(path.join(project, ".northignore"), "hello/greetings_secret.py\n");
    await writeFile(path.join(project, "hello/greetings_secret.py"), "SECRET = 1\n");
    await writeFile(path.join(project, "hello/with blank.txt"), "blank\n");
    await chat.input.pressSequentially("explain @greet");
    await option(chat, "greeting.py").first().waitFor();
    await screenshot(page, "composer-3-files");
    assert.equal(await option(chat, "secret").count(), 0);
    await chat.input.press("Enter");
    await until("the path", async () => (await value(chat)).startsWith("explain @hello/greeting.py "));
    await chip(chat, "file").filter({ hasText: "hello/greeting.py" }).waitFor();
    await chat.input.pressSequentially("and @with");
    await option(chat, "with blank.txt").waitFor();
    await chat.input.press("Enter");
    await until("the quoted path", async () => (await value(chat)).endsWith('@"hello/with blank.txt" '));
    await chat.input.pressSequentially("in @hello");
    await option(chat, "hello/").first().waitFor();
    await chat.input.press("Tab");
    await until("what is in the folder", async () => (await value(chat)).endsWith("in @hello/"));
    await option(chat, "names.py").waitFor();
    await chat.input.press("Backspace");
    await chat.frame.locator("#offers [role=option][aria-selected=true]", { hasText: "hello/" }).waitFor();
    await chat.input.press("Enter");
    await chip(chat, "folder").waitFor();
    await screenshot(page, "composer-4-mentioned");
    const said = textOf(await answered(chat, () => chat.input.press("Enter")));
    assert.match(said, /<file path="hello\/greeting\.py">/);
    assert.match(said, /<file path="hello\/with blank\.txt">\nblank/);
    assert.match(said, /<folder path="hello\/">\n[^<]*hello\/names\.py/);
    assert.doesNotMatch(said, /secret/i);
    await chip(chat, "file").waitFor({ state: "detached" });
  },

  async "selections are attached with their lines, several of them, each to be removed"(chat) {
    await openFile("hello/greeting.py");
    await selectLines("SALUTATION =", 2);
    await palette(page, "North: Ask About Selection");
    await chip(chat, "selection").filter({ hasText: "hello/greeting.py:5-6" }).waitFor();
    await selectLines("SALUTATION =", 1);
    await palette(page, "North: Ask About Selection");
    await chip(chat, "selection").filter({ hasText: /greeting\.py:5$/ }).waitFor();
    assert.equal(await chip(chat, "selection").count(), 2);
    // The file in the editor is there to be had, and off.
    await chip(chat, "suggested").filter({ hasText: "hello/greeting.py" }).waitFor();
    await screenshot(page, "composer-5-chips");
    await chip(chat, "suggested").getByRole("button", { name: "Attach hello/greeting.py" }).click();
    await chip(chat, "file").waitFor();
    await chip(chat, "suggested").waitFor({ state: "detached" });
    await chip(chat, "file").getByRole("button", { name: "Remove hello/greeting.py" }).press("Enter");
    await chip(chat, "file").waitFor({ state: "detached" });
    const said = textOf(await answered(chat, () => chat.send("what is this?")));
    assert.match(said, /<selection path="hello\/greeting\.py" lines="5-6">/);
    assert.match(said, /<selection path="hello\/greeting\.py" lines="5(-5)?">/);
    assert.doesNotMatch(said, /<file path/);
    await chat.row("user").filter({ hasText: "hello/greeting.py:5-6" }).waitFor();
    await chip(chat, "selection").waitFor({ state: "detached" });
  },

  async "problems and git's changes are attached by name, from the menu too"(chat) {
    await openFile("bad.json");
    await page.locator(".squiggly-error").first().waitFor();
    await chat.input.click();
    await chat.input.pressSequentially("fix @prob");
    await option(chat, "@problems").waitFor();
    await chat.input.press("Enter");
    await chip(chat, "problems").filter({ hasText: "bad.json" }).waitFor();
    await writeFile(path.join(project, "hello/names.py"), "NAMES = ['changed']\n");
    await chat.frame.locator("#attach").click();
    await page.locator(".quick-input-title", { hasText: "North: Attach to the Message" }).waitFor();
    await screenshot(page, "composer-6-menu");
    await page.locator(".quick-input-list .monaco-list-row", { hasText: "Git Changes" }).click();
    await chip(chat, "diff").waitFor();
    // Backspace in an empty input takes the last one away.
    await chat.input.fill("");
    await chat.input.press("Backspace");
    await chip(chat, "diff").waitFor({ state: "detached" });
    await chat.input.pressSequentially("@diff");
    await option(chat, "@diff").waitFor();
    await chat.input.press("Enter");
    await chip(chat, "diff").waitFor();
    const said = textOf(await answered(chat, () => chat.input.press("Enter")));
    assert.match(said, /bad\.json:1:\d+: error: /);
    assert.match(said, /\+NAMES = \['changed'\]/);
  },

  async "pictures are pasted and dropped, and the model sees them"(chat) {
    await bring(chat, "paste");
    await chip(chat, "picture").filter({ hasText: "Picture 40 × 30" }).locator("canvas").waitFor();
    await bring(chat, "drop", { width: 3000, height: 300, type: "image/jpeg" });
    await chip(chat, "picture").filter({ hasText: "Picture 2000 × 200" }).waitFor();
    await bring(chat, "paste", { broken: true });
    await chat.frame.locator("#composer-note", { hasText: "cannot be read" }).waitFor();
    await screenshot(page, "composer-7-pictures");
    const said = await answered(chat, () => chat.input.press("Enter"));
    const pictures = said.filter(({ type }) => type === "image").map(({ source }) => Buffer.from(source.data, "base64"));
    assert.deepEqual(pictures.map((data) => [data.readUInt32BE(16), data.readUInt32BE(20)]), [[40, 30], [2000, 200]]);
    await chat.row("user").filter({ hasText: "Picture 40 × 30" }).waitFor();
    await chip(chat, "picture").first().waitFor({ state: "detached" });
    // It stays in the conversation, also for a new server.
    await palette(page, "North: Restart Server");
    await chat.row("user").filter({ hasText: "Picture · Picture" }).waitFor();
    const again = await answered(chat, () => chat.send("and now?"));
    assert.equal(textOf(again), "and now?");
    assert.equal(JSON.stringify(requests.at(-1).messages).split('"type":"image"').length - 1, 2);
  },

  async "all of it can be reached with the keyboard"(chat) {
    await chat.input.click();
    await bring(chat, "paste");
    await chip(chat, "picture").waitFor();
    await chat.input.focus();
    const names = [];
    for (let step = 0; step < 3; step += 1) {
      await page.keyboard.press("Shift+Tab");
      names.push(await chat.frame.locator(":focus").getAttribute("aria-label"));
    }
    assert.ok(names.includes("Remove Picture 40 × 30"), names.join(", "));
    await chat.input.focus();
    await page.keyboard.press("Tab");
    assert.equal(await chat.frame.locator(":focus").getAttribute("aria-label"), "Attach…");
    await chat.frame.locator("#chips").getByRole("button", { name: "Remove Picture 40 × 30" }).press("Enter");
    await chip(chat, "picture").waitFor({ state: "detached" });
  },
};

try {
  await writeFile(path.join(project, "bad.json"), '{"a": }\n');
  const git = (...args) => execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@localhost", ...args], { cwd: project });
  git("init", "-q");
  git("add", ".");
  git("commit", "-qm", "all");
  const vsix = await packedExtension();
  const userData = await userDataFor(path.join(folder, "user-data"), north);
  server = await startServer({ vsix, workspace: project, userData, settings: { "files.autoSave": "off" }, env });
  page = await server.open();
  await palette(page, "North: Show Chat");
  const chat = new Chat(page);
  await chat.frame.locator("#mode", { hasText: /^Agent$/ }).waitFor();
  log("chat opened");
  const only = process.argv.slice(2);
  for (const [name, check] of Object.entries(cases)) {
    if (only.length > 0 && !only.some((part) => name.includes(part))) continue;
    try {
      await check(chat);
      log(name);
    } catch (error) {
      failed += 1;
      const picture = await screenshot(page, `composer-failed-${failed}`);
      console.error(`FAILED: ${name}\n${error.stack}\nscreenshot: ${picture}`);
      await chat.input.fill("");
      await palette(page, "North: New Chat");
    }
  }
  model.check();
  assert.equal(failed, 0, `${failed} cases failed`);
} catch (error) {
  const picture = page && (await screenshot(page, "composer-failed"));
  console.error(server ? `${server.output()}\n${await server.logs(/North|remoteexthost/)}` : "");
  console.error(`FAILED: ${error.stack}\nscreenshot: ${picture}`);
  process.exitCode = 1;
} finally {
  await server?.stop();
  model.close();
  await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}
