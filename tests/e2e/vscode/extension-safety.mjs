/**
 * What North's extension must not get wrong: what is applied is what the diff shows, what runs has been read, what lasts
 * is said in words and can be taken back. Packed, with the real server and the offline model. With words of the names of its
 * cases: only those.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";

import { makeBed, spread } from "./bed.mjs";
import * as controls from "./controls.mjs";
import { diffEditorLines, notification, palette, screenshot, until } from "./workbench.mjs";

const THEMES = ["Dark 2026", "Light 2026", "Dark Modern", "Light Modern", "Dark High Contrast", "Light High Contrast"];

const bed = await makeBed("safety");
bed.useOfflineModel();
const project = await bed.sampleProject();
const { chat, page } = await bed.start({ workspace: project });
const dialog = controls.dialog(page);

const cases = {
  /** A rejected hunk whose old lines are taken out again is proposed again, and one that the arrow takes out is rejected. */
  async "what the right side shows is what is applied"() {
    const diffTab = page.locator(".tabs-container .tab", { hasText: "North's proposal" });
    const right = page.locator(".editor.modified .monaco-editor");
    /** VS Code draws what follows a line as a pseudo element. */
    const marked = (text) =>
      right.locator(".view-line").evaluateAll(
        (lines, wanted) =>
          lines.some((line) =>
            [...line.querySelectorAll("span")].some((span) => getComputedStyle(span, "::after").content.includes(wanted)),
          ),
        text,
      );
    const shows = (text) => until(`${text} on the right`, async () => (await diffEditorLines(page)).modified.includes(text));
    // Another file each time: VS Code keeps a document for a while that was written to.
    let many = "";
    let round = 0;
    const propose = async () => {
      round += 1;
      many = path.join(project, `hello/many${round}.py`);
      await writeFile(many, spread("ITEM = 1", "ITEM = 2", "ITEM = 3"));
      await chat.send(`replace "ITEM" by "ENTRY" in hello/many${round}.py`);
      await diffTab.waitFor();
      await shows("ENTRY = 1");
      await right.locator(".view-line", { hasText: "ENTRY = 1" }).click();
    };
    const accept = async () => {
      await palette(page, "North: Accept");
      await diffTab.waitFor({ state: "detached" });
      await chat.idle();
    };

    await propose();
    await palette(page, "North: Reject Hunk");
    await shows("ITEM = 1");
    await until("the mark", () => marked("rejected"));
    await right.locator(".view-line", { hasText: "ITEM = 1" }).click();
    await page.keyboard.press("Control+Z");
    await shows("ENTRY = 1");
    await until("the mark to go", async () => !(await marked("rejected")));
    await accept();
    assert.equal(await readFile(many, "utf8"), spread("ENTRY = 1", "ENTRY = 2", "ENTRY = 3"));
    bed.log("  after undo");

    await propose();
    await palette(page, "North: Reject Hunk");
    await shows("ITEM = 1");
    await until("the mark", () => marked("rejected"));
    await page.locator(".tabs-container .tab.dirty").waitFor({ state: "detached" }); // it is saved by itself, at once
    await diffTab.locator(".tab-actions .action-label").click();
    await diffTab.waitFor({ state: "detached" }); // without a question: nothing is unsaved
    await chat.question("edit").getByRole("button", { name: "Show changes" }).click();
    await diffTab.waitFor();
    await shows("ITEM = 1");
    await until("the mark", () => marked("rejected"));
    await screenshot(page, "safety-1-shown-again");
    await accept();
    assert.equal(await readFile(many, "utf8"), spread("ITEM = 1", "ENTRY = 2", "ENTRY = 3"));
    bed.log("  after closing and showing again");

    await propose();
    await page.locator(".monaco-diff-editor .codicon-arrow-right").last().click({ force: true });
    await until("the mark", () => marked("rejected"));
    await screenshot(page, "safety-2-arrow");
    const shown = (await diffEditorLines(page)).modified.filter((line) => line !== "#" && line !== "");
    assert.equal(shown.filter((line) => line.startsWith("ITEM")).length, 1, shown.join("\n"));
    await accept();
    assert.equal(await readFile(many, "utf8"), spread(...shown));
    bed.log("  after the arrow");
  },

  async "a command is named wherever it is asked about, and stands above the input"() {
    for (let index = 0; index < 4; index += 1) await chat.ask("explain greet");
    await chat.frame.locator("#rows").evaluate((rows) => (rows.scrollTop = 0));
    await chat.send("run `touch seen.txt && echo one`");
    await chat.question("command").waitFor();
    await chat.frame.locator("#rows").evaluate((rows) => (rows.scrollTop = 0));
    await inView("touch seen.txt && echo one");
    await notification(page, "North asks to run touch seen.txt && echo one").waitFor();
    await chat.frame.locator("#activity", { hasText: "waits for you" }).waitFor();
    await page.locator('.statusbar-item[id*="north.status"]', { hasText: "waits for you" }).waitFor();
    await page.locator(".activitybar .badge-content", { hasText: "1" }).first().waitFor();
    await screenshot(page, "safety-3-pinned");
    // The palette shows the command before it runs anything.
    await palette(page, "North: Run Command");
    await dialog.filter({ hasText: "touch seen.txt && echo one" }).waitFor();
    await screenshot(page, "safety-4-palette");
    await page.keyboard.press("Enter"); // the button that has the focus allows nothing
    await dialog.waitFor({ state: "detached" });
    assert.ok(!existsSync(path.join(project, "seen.txt")));
    await palette(page, "North: Run Command");
    await dialog.getByRole("button", { name: "Run", exact: true }).click();
    await until("the command to run", () => existsSync(path.join(project, "seen.txt")));
    await chat.idle();
  },

  async "a long command can be allowed once all of it has been in view"() {
    const lines = Array.from({ length: 60 }, (_, index) => `echo ${index}`).join("; ");
    await chat.send(`run \`${lines}; touch long.txt\``);
    const card = chat.question("command");
    const run = card.getByRole("button", { name: "Run", exact: true });
    await run.waitFor();
    await until("the end to be out of view", () => card.locator(".body").evaluate((body) => body.scrollHeight > body.clientHeight + 2));
    assert.ok(await run.isDisabled());
    assert.ok(!(await card.getByRole("button", { name: "Deny", exact: true }).isDisabled()));
    await screenshot(page, "safety-5-long");
    await palette(page, "North: Run Command");
    await card.locator(".body").evaluate((body) => (body.scrollTop = body.scrollHeight));
    await dialog.filter({ hasText: "touch long.txt" }).waitFor(); // the dialog shows all of it, and allows nothing by itself
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await until("Run to be allowed", async () => !(await run.isDisabled()));
    await card.getByRole("button", { name: "Deny", exact: true }).click();
    await chat.idle();
    assert.ok(!existsSync(path.join(project, "long.txt")));
  },

  async "the command can be read in every theme"() {
    await chat.send("run `echo a-command-to-read`");
    await chat.question("command").waitFor();
    for (const theme of [...THEMES, "Light 2026"]) {
      await controls.chooseTheme(page, chat.frame, theme);
      const name = theme.toLowerCase().replaceAll(" ", "-");
      const measured = await until(`the colors of ${theme}`, () => contrasts());
      await screenshot(page, `safety-6-${name}`);
      console.log(`  ${theme}: ${measured.map(([what, ratio]) => `${what} ${ratio.toFixed(1)}`).join(", ")}`);
      for (const [what, ratio] of measured) assert.ok(ratio >= 4.5, `${theme}: ${what} has a contrast of ${ratio.toFixed(2)}`);
    }
    await chat.decide("command", "Deny");
    await chat.idle();
  },

  async "what lasts is confirmed in words, stays in view and is taken back with a click"() {
    const shield = page.locator('.statusbar-item[id*="north.permissions"]');
    const all = () => chat.question("command").getByRole("button", { name: "Run every command without asking…" });
    await chat.send("run `touch all-1.txt`");
    await all().click();
    await dialog.filter({ hasText: "It applies until you revoke it" }).waitFor();
    await screenshot(page, "safety-7-confirmation");
    await page.keyboard.press("Enter"); // the button that has the focus allows nothing
    await dialog.waitFor({ state: "detached" });
    assert.ok(!existsSync(path.join(project, "all-1.txt")));
    assert.equal(await shield.count(), 0);
    await all().click();
    await dialog.getByRole("button", { name: "Run every command without asking" }).click();
    await until("the command to run", () => existsSync(path.join(project, "all-1.txt")));
    await shield.filter({ hasText: "all commands" }).waitFor();
    await chat.frame.locator("#permitted", { hasText: "all commands" }).waitFor();
    await chat.idle();
    await screenshot(page, "safety-8-badge");
    // A new conversation says so as well.
    await palette(page, "North: New Chat");
    await until("the rows to be gone", async () => (await chat.rows.count()) === 0);
    await chat.frame.locator("#permitted", { hasText: "all commands" }).click();
    await page.locator(".quick-input-list .monaco-list-row", { hasText: "all commands" }).waitFor();
    await page.keyboard.press("Enter");
    await shield.waitFor({ state: "detached" });
    await chat.frame.locator("#permitted").waitFor({ state: "hidden" });
    await chat.send("run `touch all-3.txt`");
    await chat.decide("command", "Deny");
    await chat.idle();
    assert.ok(!existsSync(path.join(project, "all-3.txt")));
    // The same for edits.
    await chat.send('replace "stranger" by "friend" in hello/greeting.py');
    await chat.question("edit").getByRole("button", { name: "Accept this and all later edits in this project…" }).click();
    await dialog.filter({ hasText: "It applies until you revoke it" }).waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await palette(page, "North: Accept This and All Later Edits in This Project");
    await dialog.getByRole("button", { name: "Accept this and all later edits in this project" }).click();
    await shield.filter({ hasText: "all edits" }).waitFor();
    await chat.idle();
    await shield.click();
    await page.locator(".quick-input-list .monaco-list-row", { hasText: "all edits" }).waitFor();
    await page.keyboard.press("Enter");
    await shield.waitFor({ state: "detached" });
  },
};

/** The command and every button are inside the window. */
async function inView(command) {
  const text = chat.question("command").locator("pre", { hasText: command });
  await text.waitFor();
  const { height } = page.viewportSize();
  for (const part of [text, ...(await chat.question("command").getByRole("button").all())]) {
    const box = await part.boundingBox();
    assert.ok(box !== null && box.y >= 0 && box.y + box.height <= height, `out of view: ${JSON.stringify(box)}`);
  }
}

/** The contrast of what has to be read against what is behind it, by name. */
async function contrasts() {
  return chat.frame.locator("body").evaluate(() => {
    const channels = (text) => {
      const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number);
      return text.startsWith("color(srgb") ? [r * 255, g * 255, b * 255, a] : [r, g, b, a];
    };
    const over = ([r, g, b, a], below) => [r, g, b].map((channel, index) => channel * a + below[index] * (1 - a));
    const behind = (element) => {
      const layers = [];
      for (let one = element; one !== null; one = one.parentElement) layers.push(channels(getComputedStyle(one).backgroundColor));
      const style = getComputedStyle(document.documentElement);
      const probe = document.createElement("div");
      probe.style.backgroundColor = style.getPropertyValue("--vscode-sideBar-background");
      document.body.append(probe);
      const bottom = over(channels(getComputedStyle(probe).backgroundColor), [255, 255, 255]);
      probe.remove();
      return layers.reverse().reduce((below, layer) => over(layer, below), bottom);
    };
    const luminance = (rgb) => {
      const [r, g, b] = rgb.map((value) => (value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const contrast = (element) => {
      const back = behind(element);
      const [one, two] = [luminance(over(channels(getComputedStyle(element).color), back)), luminance(back)].sort((a, b) => b - a);
      return (one + 0.05) / (two + 0.05);
    };
    const wanted = {
      command: "#waiting pre code",
      block: "#waiting pre",
      heading: "#waiting .heading",
      words: "#waiting .body p",
      button: "#waiting button",
      answer: "#rows .answer p",
      code: "#rows .answer code",
    };
    return Object.entries(wanted).flatMap(([name, selector]) => {
      const element = document.querySelector(selector);
      return element === null ? [] : [[name, contrast(element)]];
    });
  });
}

await bed.each(cases, {
  async recover() {
    await page.keyboard.press("Escape");
    if (await chat.frame.locator("#stop").isVisible()) await palette(page, "North: Stop");
    await palette(page, "North: New Chat");
    await palette(page, "View: Close All Editors");
  },
});
