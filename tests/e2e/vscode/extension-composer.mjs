/**
 * What the user writes with: an input that grows, earlier messages, completion, attachments, pictures. Packed, with the
 * real server and a model server that keeps what it is sent, which is held to the vendor's rules. With words of the names
 * of its cases: only those.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";

import { makeBed } from "./bed.mjs";
import { listRow, openFile } from "./controls.mjs";
import { palette, screenshot, until } from "./workbench.mjs";

const bed = await makeBed("composer");
/** Answers at once, or never to its end where the prompt says "slow". */
const { requests } = await bed.useScriptedModel((body) => JSON.stringify(body.messages.at(-1)).includes("slow"));
const project = await bed.sampleProject();
await writeFile(path.join(project, "bad.json"), '{"a": }\n');
const git = (...args) => execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@localhost", ...args], { cwd: project });
git("init", "-q");
git("add", ".");
git("commit", "-qm", "all");
const { chat, page } = await bed.start({ workspace: project });

const value = () => chat.input.inputValue();
const option = (text) => chat.frame.locator("#offers [role=option]", { hasText: text });
const chip = (kind) => chat.frame.locator(`#chips .chip.${kind}`);
const height = () => chat.input.evaluate((input) => input.getBoundingClientRect().height);
const lastWords = () => requests.at(-1).messages.filter(({ role }) => role === "user").at(-1).content;
const textOf = (content) => content.filter(({ type }) => type === "text").map(({ text }) => text).join("\n");

/** Settings of the user on top of those that there are; one that is undefined goes. Written as users do: VS Code does not
 * always notice that another program has changed the file. */
async function userSettings(settings) {
  const file = bed.path("user-data", "User", "settings.json");
  const text = JSON.stringify({ ...JSON.parse(await readFile(file, "utf8")), ...settings });
  await palette(page, "Preferences: Open User Settings (JSON)");
  const lines = page.locator(".monaco-editor .view-lines", { hasText: "workbench.startupEditor" }); // in a window of its own
  await lines.click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
  await page.keyboard.press("Control+Shift+End"); // what VS Code has closed by itself
  await page.keyboard.press("Delete");
  await page.keyboard.press("Control+s");
  await until("the settings to be saved", async () => (await readFile(file, "utf8")).trim() === text);
  await palette(page, "View: Close Editor");
  await lines.waitFor({ state: "detached" });
}

/** What the model is told last, after something that asks it. */
async function answered(act) {
  const before = requests.length;
  await act();
  await until("the model to be asked", () => requests.length > before);
  await chat.idle();
  return lastWords();
}

/** From the beginning of a line that has a text, down to the beginning of another. */
async function selectLines(text, count) {
  await page.locator(".editor-instance .view-line", { hasText: text }).first().click();
  await page.keyboard.press("Home");
  for (let line = 0; line < count; line += 1) await page.keyboard.press("Shift+ArrowDown");
}

/** A picture, drawn in the page, as it comes with an event of the page. */
async function bring(event, { width = 40, height = 30, broken = false, type = "image/png" } = {}) {
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
  async "the input grows with wrapped text, up to a third of the panel"() {
    const low = await height();
    await chat.input.fill("many words ".repeat(12));
    const middle = await height();
    assert.ok(middle > low * 1.5, `${low} → ${middle}`);
    await chat.input.fill("many words ".repeat(900));
    const [high, panel] = [await height(), await chat.frame.locator("body").evaluate(() => window.innerHeight)];
    assert.ok(high > middle && high <= panel / 3 + 2, `${high} of ${panel}`);
    await screenshot(page, "composer-1-grown");
    await chat.input.fill("");
    assert.equal(await height(), low);
  },

  async "earlier messages come back with the arrows at the ends of the text"() {
    await answered(() => chat.send("the first"));
    await answered(() => chat.send("the second, a long one with many words, so that it is wrapped in the narrow panel that it stands in"));
    await chat.input.fill("a draft");
    await chat.input.press("ArrowUp"); // to the beginning
    assert.equal(await value(), "a draft");
    await chat.input.press("ArrowUp");
    await until("the second", async () => (await value()).startsWith("the second"));
    await chat.input.press("ArrowUp");
    await until("the first", async () => (await value()) === "the first");
    await chat.input.press("ArrowUp");
    assert.equal(await value(), "the first");
    await chat.input.press("Control+End");
    await chat.input.press("ArrowDown");
    await chat.input.press("ArrowDown");
    await until("the draft", async () => (await value()) === "a draft");
    await chat.input.fill("");
  },

  async "Shift+Enter makes a line, and an input method's Enter sends nothing"() {
    const before = requests.length;
    await chat.input.fill("one");
    await chat.input.press("Shift+Enter");
    await chat.input.pressSequentially("two");
    assert.equal(await value(), "one\ntwo");
    for (const init of [{ isComposing: true }, { keyCode: 229 }]) {
      const prevented = await chat.input.evaluate((input, init) => {
        const event = new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true, ...init });
        input.dispatchEvent(event);
        return event.defaultPrevented;
      }, init);
      assert.equal(prevented, false);
    }
    assert.equal(await value(), "one\ntwo");
    assert.equal(requests.length, before);
    await chat.input.fill("");
  },

  async "Esc closes what is offered, and only then stops the turn"() {
    await chat.send("be slow");
    await chat.frame.locator("#stop").waitFor();
    await chat.input.pressSequentially("/");
    await option("/help").waitFor();
    await chat.input.press("Escape");
    await option("/help").waitFor({ state: "detached" });
    await chat.frame.locator("#stop").waitFor();
    assert.equal(await value(), "/");
    await chat.input.press("Escape");
    await chat.idle();
    await chat.row("notice").filter({ hasText: "Stopped." }).waitFor();
    await chat.input.fill("");
  },

  async "messages that wait are sent earlier, edited and removed"() {
    await chat.send("be slow");
    await chat.frame.locator("#stop").waitFor();
    for (const text of ["the first one", "the second one"]) await chat.send(text);
    const waits = chat.frame.locator("#queue li");
    await waits.nth(1).filter({ hasText: "the second one" }).getByRole("button", { name: "Send earlier" }).click();
    await waits.first().filter({ hasText: "the second one" }).waitFor();
    await screenshot(page, "composer-queue");
    await waits.first().getByRole("button", { name: "Edit" }).click();
    await until("it in the input", async () => (await value()) === "the second one");
    await chat.input.fill("");
    await waits.first().filter({ hasText: "the first one" }).getByRole("button", { name: "Remove" }).click();
    await chat.frame.locator("#queue").waitFor({ state: "hidden" });
    await chat.input.press("Escape");
    await chat.idle();
    assert.equal(await value(), "", "what was removed does not come back");
  },

  async "slash commands are completed, with what they do"() {
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
    assert.equal(await value(), "/permissions ");
    assert.equal(await chat.input.getAttribute("aria-expanded"), "false");
    await chat.input.press("Enter");
    await chat.row("user").filter({ hasText: "/permissions" }).waitFor();
    await chat.idle();
    // One that is written out is sent at once.
    const rows = await chat.row("answer").count();
    await chat.input.pressSequentially("/help");
    await option("/help").waitFor();
    await chat.input.press("Enter");
    await until("the help", async () => (await chat.row("answer").count()) > rows);
    await chat.idle();
  },

  async "settings and their values are completed behind /config, which is sent without them, too"() {
    await chat.input.pressSequentially("/config edits.save");
    await option("edits.saveAfterApply").waitFor();
    await screenshot(page, "composer-2b-values");
    await chat.input.press("Tab");
    assert.equal(await value(), "/config edits.saveAfterApply ");
    await option("--session").waitFor();
    assert.equal(await chat.input.getAttribute("aria-activedescendant"), null); // nothing is gone to: Enter would send
    await chat.input.pressSequentially("fal");
    await option("false").waitFor();
    await chat.input.press("ArrowDown");
    await chat.frame.locator("#offers [role=option][aria-selected=true]", { hasText: "false" }).waitFor();
    await chat.input.press("Enter");
    assert.equal(await value(), "/config edits.saveAfterApply false ");
    await option("--project").waitFor();
    await chat.input.fill("");
    await chat.input.pressSequentially("/mode ");
    await option("plan").waitFor();
    const rows = await chat.row("user").count();
    await chat.input.press("Enter");
    await until("the message", async () => (await chat.row("user").count()) > rows);
    await chat.idle();
  },

  async "files and folders are completed behind an @, but no closed ones"() {
    await writeFile(path.join(project, ".northignore"), "hello/greetings_secret.py\n");
    await writeFile(path.join(project, "hello/greetings_secret.py"), "SECRET = 1\n");
    await writeFile(path.join(project, "hello/with blank.txt"), "blank\n");
    await chat.input.pressSequentially("explain @greet");
    await option("greeting.py").first().waitFor();
    await screenshot(page, "composer-3-files");
    assert.equal(await option("secret").count(), 0);
    await chat.input.press("Enter");
    await until("the path", async () => (await value()).startsWith("explain @hello/greeting.py "));
    await chip("file").filter({ hasText: "hello/greeting.py" }).waitFor();
    await chat.input.pressSequentially("and @with");
    await option("with blank.txt").waitFor();
    await chat.input.press("Enter");
    await until("the quoted path", async () => (await value()).endsWith('@"hello/with blank.txt" '));
    await chat.input.pressSequentially("in @hello");
    await option("hello/").first().waitFor();
    await chat.input.press("Tab");
    await until("what is in the folder", async () => (await value()).endsWith("in @hello/"));
    await option("names.py").waitFor();
    await chat.input.press("Backspace");
    await chat.frame.locator("#offers [role=option][aria-selected=true]", { hasText: "hello/" }).waitFor();
    await chat.input.press("Enter");
    await chip("folder").waitFor();
    await screenshot(page, "composer-4-mentioned");
    const said = textOf(await answered(() => chat.input.press("Enter")));
    assert.match(said, /<file path="hello\/greeting\.py">/);
    assert.match(said, /<file path="hello\/with blank\.txt">\nblank/);
    assert.match(said, /<folder path="hello\/">\n[^<]*hello\/names\.py/);
    assert.doesNotMatch(said, /secret/i);
    await chip("file").waitFor({ state: "detached" });
  },

  async "selections are attached with their lines, several of them, each to be removed"() {
    await openFile(page, "hello/greeting.py");
    await selectLines("SALUTATION =", 2);
    await palette(page, "North: Ask About Selection");
    await chip("selection").filter({ hasText: "hello/greeting.py:5-6" }).waitFor();
    await selectLines("SALUTATION =", 1);
    await palette(page, "North: Ask About Selection");
    await chip("selection").filter({ hasText: /greeting\.py:5$/ }).waitFor();
    assert.equal(await chip("selection").count(), 2);
    // The file in the editor is there to be had, and off.
    await chip("suggested").filter({ hasText: "hello/greeting.py" }).waitFor();
    await screenshot(page, "composer-5-chips");
    await chip("suggested").getByRole("button", { name: "Attach hello/greeting.py", exact: true }).click();
    await chip("file").waitFor();
    await chip("suggested").waitFor({ state: "detached" });
    await chip("file").getByRole("button", { name: "Remove hello/greeting.py" }).press("Enter");
    await chip("file").waitFor({ state: "detached" });
    const said = textOf(await answered(() => chat.send("what is this?")));
    assert.match(said, /<selection path="hello\/greeting\.py" lines="5-6">/);
    assert.match(said, /<selection path="hello\/greeting\.py" lines="5(-5)?">/);
    assert.doesNotMatch(said, /<file path/);
    await chat.row("user").filter({ hasText: "hello/greeting.py:5-6" }).waitFor();
    await chip("selection").waitFor({ state: "detached" });
  },

  async "what is selected in the editor is offered, as long as it is selected, and one key attaches it"() {
    await openFile(page, "hello/greeting.py");
    await selectLines("SALUTATION =", 2);
    const offered = chip("suggested").filter({ hasText: "hello/greeting.py:5-6" });
    await offered.waitFor();
    await screenshot(page, "composer-5b-selection");
    await page.keyboard.press("ArrowRight");
    await offered.waitFor({ state: "detached" });
    await chip("suggested").filter({ hasText: "hello/greeting.py" }).waitFor();
    await selectLines("SALUTATION =", 1);
    await chip("suggested").filter({ hasText: /greeting\.py:5$/ }).waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.press("Control+g"); // into the chat
    await until("the input to have the focus", () => chat.input.evaluate((input) => document.activeElement === input));
    // VS Code hears a moment after the page has it who has the focus, and shows nothing of it.
    await until("the selection to be attached", async () => {
      await chat.input.press("Alt+F3");
      const attached = chip("selection").filter({ hasText: /greeting\.py:5$/ });
      return attached.waitFor({ timeout: 5000 }).then(
        () => true,
        () => false,
      );
    });
    const said = textOf(await answered(() => chat.send("what is this?")));
    assert.match(said, /<selection path="hello\/greeting\.py" lines="5(-5)?">/);
  },

  async "with north.alwaysAttach the selection, or else the file, goes along by itself, unless it is taken off"() {
    await userSettings({ "north.alwaysAttach": "selectionOrFile" });
    await openFile(page, "hello/greeting.py");
    const along = chat.frame.locator("#chips .chip:not(.suggested)");
    await selectLines("SALUTATION =", 1);
    await along.filter({ hasText: /greeting\.py:5$/ }).waitFor();
    await page.keyboard.press("ArrowRight"); // nothing is selected any more
    await along.filter({ hasText: /greeting\.py$/ }).waitFor();
    await screenshot(page, "composer-5c-always");
    assert.match(textOf(await answered(() => chat.send("what is this?"))), /<file path="hello\/greeting\.py">/);
    await selectLines("SALUTATION =", 1);
    await along.filter({ hasText: /greeting\.py:5$/ }).waitFor();
    assert.match(textOf(await answered(() => chat.send("and this?"))), /<selection path="hello\/greeting\.py" lines="5(-5)?">/);
    await along.getByRole("button", { name: /^Remove / }).press("Enter");
    await along.waitFor({ state: "detached" });
    assert.doesNotMatch(textOf(await answered(() => chat.send("and without?"))), /<(file|selection) path/);
    await along.waitFor();
    await userSettings({ "north.alwaysAttach": undefined });
    await openFile(page, "hello/greeting.py"); // the settings may have taken its tab
    await chip("suggested").filter({ hasText: "hello/greeting.py" }).first().waitFor();
    assert.equal(await along.count(), 0);
  },

  async "the server's settings are listed with where they come from, and one is set for this conversation"() {
    const list = page.locator(".quick-input-title", { hasText: "North: Settings" });
    await chat.send("/config"); // the same as the command
    await list.waitFor();
    await page.keyboard.press("Escape");
    await chat.idle();
    await palette(page, "North: Settings");
    await list.waitFor();
    await page.keyboard.type("turn.maxRequests");
    await listRow(page, "turn.maxRequests").waitFor();
    await screenshot(page, "composer-8-settings");
    await page.keyboard.press("Enter");
    await listRow(page, "Change for This Conversation…").click();
    await page.locator(".quick-input-widget input").fill("199");
    await page.keyboard.press("Enter");
    await until("it to be set", async () => {
      const rows = await chat.row("answer").count();
      await chat.send("/config turn.maxRequests");
      await until("an answer", async () => (await chat.row("answer").count()) > rows);
      return (await chat.row("answer").last().textContent()).includes("is 199, from this conversation");
    });
    await answered(() => chat.send("hello"));
  },

  async "problems and git's changes are attached by name, from the menu too"() {
    await openFile(page, "bad.json");
    await page.locator(".squiggly-error").first().waitFor();
    await chat.input.click();
    await chat.input.pressSequentially("fix @prob");
    await option("@problems").waitFor();
    await chat.input.press("Enter");
    await chip("problems").filter({ hasText: "bad.json" }).waitFor();
    await writeFile(path.join(project, "hello/names.py"), "NAMES = ['changed']\n");
    await chat.frame.locator("#attach").click();
    await page.locator(".quick-input-title", { hasText: "North: Attach to the Message" }).waitFor();
    await screenshot(page, "composer-6-menu");
    await listRow(page, "Git Changes").click();
    await chip("diff").waitFor();
    // Backspace in an empty input takes the last one away.
    await chat.input.fill("");
    await chat.input.press("Backspace");
    await chip("diff").waitFor({ state: "detached" });
    await chat.input.pressSequentially("@diff");
    await option("@diff").waitFor();
    await chat.input.press("Enter");
    await chip("diff").waitFor();
    const said = textOf(await answered(() => chat.input.press("Enter")));
    assert.match(said, /bad\.json:1:\d+: error: /);
    assert.equal(said.split("+NAMES = ['changed']").length, 2); // once, although the words name it, too
    // Without what VS Code attaches, the words are enough.
    await chat.input.pressSequentially("fix @problems");
    await chat.input.press("Escape");
    assert.match(textOf(await answered(() => chat.input.press("Enter"))), /bad\.json:1:\d+: error: .*\(json /);
  },

  async "pictures are pasted and dropped, and the model sees them"() {
    await bring("paste");
    await chip("picture").filter({ hasText: "Picture 40 × 30" }).locator("canvas").waitFor();
    await bring("drop", { width: 3000, height: 300, type: "image/jpeg" });
    await chip("picture").filter({ hasText: "Picture 2000 × 200" }).waitFor();
    await bring("paste", { broken: true });
    await chat.frame.locator("#composer-note", { hasText: "cannot be read" }).waitFor();
    await screenshot(page, "composer-7-pictures");
    const said = await answered(() => chat.input.press("Enter"));
    const pictures = said.filter(({ type }) => type === "image").map(({ source }) => Buffer.from(source.data, "base64"));
    assert.deepEqual(pictures.map((data) => [data.readUInt32BE(16), data.readUInt32BE(20)]), [[40, 30], [2000, 200]]);
    await chat.row("user").filter({ hasText: "Picture 40 × 30" }).waitFor();
    await chip("picture").first().waitFor({ state: "detached" });
    // It stays in the conversation, also for a new server.
    await palette(page, "North: Restart Server");
    await chat.row("user").filter({ hasText: "Picture · Picture" }).waitFor();
    const again = await answered(() => chat.send("and now?"));
    assert.equal(textOf(again), "and now?");
    assert.equal(JSON.stringify(requests.at(-1).messages).split('"type":"image"').length - 1, 2);
  },

  async "all of it can be reached with the keyboard"() {
    await chat.input.click();
    await bring("paste");
    await chip("picture").waitFor();
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
    await chip("picture").waitFor({ state: "detached" });
  },
};

await bed.each(cases, {
  async recover() {
    await chat.input.fill("");
    await palette(page, "North: New Chat");
  },
});
