/**
 * Three agents side by side in git work trees of their own: one fails, one is cancelled, and one changes a file that the
 * user types into meanwhile. Packed, with the real server; the model is scripted. The cases follow each other.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";

import { frameOf, violations } from "./audit.mjs";
import { makeBed, spread } from "./bed.mjs";
import { editorTab, openFile } from "./controls.mjs";
import { PAUSE, refusal } from "./scripted-model.mjs";
import { palette, screenshot, until, visibleLines } from "./workbench.mjs";

const bed = await makeBed("agents");
const model = await bed.useScriptedModel();
const project = await bed.sampleProject();
const notes = path.join(project, "notes.py");
const committed = spread("FIRST = 1", "SECOND = 2", "THIRD = 3");
await writeFile(notes, committed);
const git = (...args) => execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.org", ...args], { cwd: project }).toString();
git("init", "-q");
git("add", ".");
git("commit", "-qm", "first");
const { chat, page } = await bed.start({ workspace: project, size: { width: 1400, height: 900 } });

const PROMPT = "have three look at it";
const FAILURE = /no such thing/;
const NAMES = ["ALPHA", "BETA", "GAMMA"];
const gates = Object.fromEntries(NAMES.map((name) => [name, Promise.withResolvers()]));
const reached = new Set();
model.hold = (body) => {
  const name = NAMES.find((name) => JSON.stringify(body.messages).includes(name));
  reached.add(name);
  return gates[name].promise;
};
const replace = (old, text) => [["edit_replace_exact", { path: "notes.py", old, new: text }]];
const row = chat.frame.locator(".row.tool", { hasText: "Agents" });
const task = (name) => row.locator(".task").filter({ has: chat.frame.getByText(name, { exact: true }) });
const shows = (name, wanted) => until(`${wanted} of ${name}`, async () => wanted.test(await task(name).innerText()));
const shown = () => page.locator(".editor-group-container.active .monaco-editor").first();
const lens = (text) => page.locator(".editor.modified .codelens-decoration a", { hasText: text });
const open = (name) => task(name).getByRole("button", { name: `Open the conversation of ${name}` }).click();
const reads = (wanted) => until(`${wanted} in the editor`, async () => wanted.test((await visibleLines(shown())).join("\n")));

await bed.each({
  async "three agents at work are rows with their names and what they do"() {
    const tasks = ["explore", "task", "executor"].map((agent, index) => ({ id: NAMES[index].toLowerCase(), agent, prompt: NAMES[index], isolation: "worktree" }));
    model.route(PROMPT, [["task", { tasks }]], "So be it.");
    model.route("ALPHA", [`I ${PAUSE}look.`, ["list_root", {}]], refusal(400, "invalid_request_error", "no such thing"));
    model.route("BETA", [["find_files", { pattern: "**/*.py" }]], `I ${PAUSE}never end.`);
    model.route(
      "GAMMA",
      [["read_file", { path: "notes.py" }]],
      replace("FIRST = 1", "FIRST = 10"),
      replace("SECOND = 2", "SECOND = 20"),
      replace("THIRD = 3", "THIRD = 30"),
      [`I ${PAUSE}look again.`, ["list_root", {}]],
      [["submit_result", { result: { done: true, files: [], checks: [], open: [] }, summary: "All are changed." }]],
    );
    await chat.send(PROMPT);
    await until("all of them at work", () => reached.size === 3);
    await row.getByText("Agents at work: explore, task, executor").waitFor();
    await shows("explore", /working\s+thinking/);
    await shows("task", /working\s+thinking\s+11 tokens/);
    await shows("executor", /working\s+thinking\s+44 tokens/);
    await screenshot(page, "agents-1-rows");
    assert.deepEqual(await violations(await frameOf(chat.frame)), []);
  },

  async "the conversation of one opens while it is at work, and it is cancelled"() {
    await open("task");
    await editorTab(page, "1-beta.md").waitFor();
    await reads(/^# BETA$[^]*Finding \*\*\/\*\.py/m);
    await screenshot(page, "agents-2-conversation");
    await task("task").getByRole("button", { name: "Cancel the task of task" }).click();
    await shows("task", /cancelled · 23 tokens/);
    await shows("executor", /working/);
    assert.equal(await task("task").getByRole("button").count(), 1);
  },

  async "another one fails, and its conversation has the reason"() {
    gates.ALPHA.resolve();
    await shows("explore", /failed · 11 tokens/);
    await open("explore");
    await editorTab(page, "0-alpha.md").waitFor();
    await reads(FAILURE);
    await shows("executor", /working/);
    await screenshot(page, "agents-3-failed");
    await palette(page, "View: Close All Editors");
  },

  async "what the third changed is one review with its name, and what the user typed meanwhile stays"() {
    await (await openFile(page, notes)).locator(".view-line").first().click();
    await page.keyboard.press("Control+Home");
    await page.keyboard.press("End");
    await page.keyboard.type("  # mine");
    await page.keyboard.press("Shift+Home");
    await chat.frame.locator("#chips .chip.suggested", { hasText: /notes\.py:1$/ }).waitFor(); // the extensions know of it
    await reads(/^FIRST = 1 {2}# mine$/m);
    gates.GAMMA.resolve();
    await chat.question("edit").waitFor();
    assert.match(await chat.question("edit").innerText(), /executor \(2-gamma\): Edit notes\.py \(\+2\/-2\)\?\s+line 1: .*yours are kept, the agent's was: FIRST = 10/);
    await screenshot(page, "agents-4-question");
    await chat.decide("edit", "Show changes");
    await page.locator(".editor.modified .codelens-decoration", { hasText: "Hunk 2 of 2" }).waitFor();
    await screenshot(page, "agents-5-review");
    await lens("Reject").first().click();
    await lens("Decide Again").first().waitFor();
    await screenshot(page, "agents-6-hunk");
    await lens("Accept").first().click();
    await chat.idle();
    assert.equal(git("worktree", "list", "--porcelain").match(/^worktree /gm).length, 1);
  },

  async "the file is not saved for the user, and then has the user's text and the accepted hunk"() {
    await editorTab(page, "notes.py: North's proposal").waitFor({ state: "detached" });
    await reads(/^FIRST = 1 {2}# mine$[^]*^SECOND = 2$[^]*^THIRD = 30$/m);
    assert.equal(await readFile(notes, "utf8"), committed);
    await palette(page, "File: Save");
    await until("the saved file", async () => (await readFile(notes, "utf8")) !== committed);
    assert.equal(await readFile(notes, "utf8"), spread("FIRST = 1  # mine", "SECOND = 2", "THIRD = 30"));
  },

  async "the model and the user are told how each ended, and all tokens add up"() {
    const told = model.last();
    for (const words of [/\[0-alpha\] explore: failed/, FAILURE, /\[1-beta\] task: cancelled/, /\[2-gamma\] executor: done/, /FIRST = 10/, /SECOND = 20/]) assert.match(told, words);
    assert.match(await chat.row("answer").last().innerText(), /So be it\./);
    await row.locator(".line", { hasText: "Agents: 1 of 3 tasks done" }).locator("button").last().click();
    await row.getByText("no such thing").waitFor();
    const used = (await row.locator(".task .hint").allInnerTexts()).map((text) => Number(/(\d+) tokens/.exec(text)[1]));
    assert.deepEqual(used, [11, 23, 66]);
    await chat.frame.locator("#usage").click();
    const usage = chat.frame.locator("#usage-rows");
    await usage.locator("dt").first().waitFor();
    await screenshot(page, "agents-7-ended");
    const ofParent = 2 * 11;
    assert.match(await usage.innerText(), new RegExp(`All tokens\\s+${11 + 23 + 66 + ofParent}\\s+Cost\\s+\\$0\\.001`));
  },
});
