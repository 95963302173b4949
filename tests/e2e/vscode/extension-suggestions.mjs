/**
 * What North proposes while one types, in North's extension: seen in the file, taken by a key that is there only while
 * something is shown, one step for undo. The model is scripted.
 */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";

import { makeBed } from "./bed.mjs";
import { openFile, reloadWindow } from "./controls.mjs";
import { palette, screenshot, until, visibleLines } from "./workbench.mjs";

const TEXT = `def add(a, b):\n    return a + b\n\n\nprint(add(1, 2))\n`;
const FAR = TEXT.replace("\n\n\n", "\n".repeat(18));

const bed = await makeBed("suggestions");
const model = await bed.useScriptedModel();
const project = bed.path("project");
await mkdir(project);
const names = ["sums.py", "dismissed.py", "far.py", "lines.py", "begun.py", "off.py"];
for (const name of names) await writeFile(path.join(project, name), name === "far.py" ? FAR : TEXT);
const { page } = await bed.start({ workspace: project, settings: { "north.completion.nextEdits": true } });

const after = () => page.evaluate(() => [...document.querySelectorAll(".editor-group-container.active .view-line span")].map((part) => getComputedStyle(part, "::after").content).filter((text) => text !== "none" && text !== "normal").map((text) => text.slice(1, -1).replaceAll("\u00a0", " ")));
const shows = (text) => until(`"${text}" to be proposed`, async () => (await after()).some((shown) => shown.includes(text)));
const showsNothing = () => until("nothing to be proposed", async () => (await after()).length === 0);
const text = async (editor) => (await visibleLines(editor)).join("\n");
const has = (editor, pattern) => until(`${pattern} in the file`, async () => pattern.test(await text(editor)));

/** What the model answers from now on: how often it is asked while one types depends on how fast one types. */
const say = (answer) => model.answers.splice(0, Infinity, ...Array(30).fill(answer));

/** In the first line, `add` becomes `total`; the model answers with a text. */
async function rename(name, answer) {
  const editor = await openFile(page, name);
  await until("the file", async () => /def add/.test(await text(editor)));
  say(answer);
  await page.keyboard.press("Control+Home");
  for (let step = 0; step < 4; step += 1) await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Control+Shift+ArrowRight");
  await page.keyboard.type("total");
  return editor;
}

const renamed = (whole) => whole.replace("def add", "def total").replace("print(add", "print(total");

await bed.each({
  async "the edit that follows is drawn where it belongs, taken with Tab, and one step for undo"() {
    const editor = await rename("sums.py", renamed(TEXT));
    await shows("total");
    assert.match(await text(editor), /print\(add\(1, 2\)\)/, "nothing is changed before it is taken");
    await screenshot(page, "suggestions-shown");
    assert.match(JSON.stringify(model.requests.at(-1).messages), /-def add\(a, b\):/);
    say("NONE");
    await page.keyboard.press("Tab");
    await has(editor, /print\(total\(1, 2\)\)/);
    await showsNothing();
    say("NONE");
    await page.keyboard.press("Control+z");
    await has(editor, /print\(add\(1, 2\)\)/);
    assert.match(await text(editor), /def total/);
  },

  async "Escape dismisses it, and then Tab writes again"() {
    const editor = await rename("dismissed.py", renamed(TEXT));
    await shows("total");
    await page.keyboard.press("Escape");
    await showsNothing();
    say("NONE");
    await page.keyboard.press("End");
    await page.keyboard.press("Tab");
    await has(editor, /def total\(a, b\):\s+$/m);
    assert.match(await text(editor), /print\(add/);
  },

  async "one that is out of view is named beside the cursor, and gone to first"() {
    const { width, height } = page.viewportSize();
    await page.setViewportSize({ width, height: 380 });
    const editor = await rename("far.py", renamed(FAR));
    await shows("North: next edit in line 20");
    await screenshot(page, "suggestions-far");
    await page.keyboard.press("Tab");
    await has(editor, /print\(add\(1, 2\)\)/);
    await shows("total");
    say("NONE");
    await page.keyboard.press("Tab");
    await has(editor, /print\(total\(1, 2\)\)/);
    await page.setViewportSize({ width, height });
  },

  async "several lines are seen before they are taken, and it goes with the next change"() {
    const editor = await rename("lines.py", renamed(TEXT).replace("print(total(1, 2))", "for n in range(2):\n    print(total(n, 2))"));
    await shows("for n in range(2):↵    print(total(n, 2))");
    await screenshot(page, "suggestions-lines");
    say("NONE");
    await page.keyboard.type("s");
    await showsNothing();
    await has(editor, /def totals\(a, b\)/);
    assert.doesNotMatch(await text(editor), /for n/);
  },

  async "what only adds at the cursor is VS Code's own ghost text"() {
    const editor = await openFile(page, "begun.py");
    await until("the file", async () => /def add/.test(await text(editor)));
    say(`${TEXT}total = add(3, 4)\n`);
    await page.keyboard.press("Control+End");
    await page.keyboard.type("total");
    await page.keyboard.press("Escape"); // VS Code's list of words
    const ghost = page.locator(".editor-group-container.active .ghost-text, .editor-group-container.active .ghost-text-decoration").first();
    await ghost.waitFor();
    await screenshot(page, "suggestions-ghost");
    say("NONE");
    await page.keyboard.press("Tab");
    await has(editor, /total = add\(3, 4\)/);
  },

  async "nothing is asked once it is switched off"() {
    await writeFile(path.join(bed.path("user-data"), "User/settings.json"), JSON.stringify({ "files.autoSave": "off" }));
    await reloadWindow(page);
    await palette(page, "North: Show Chat");
    const before = model.requests.length;
    const editor = await rename("off.py", "never asked");
    await has(editor, /def total/);
    await palette(page, "View: Toggle Output"); // whatever was begun is done by then
    assert.equal(model.requests.length, before);
  },
});
