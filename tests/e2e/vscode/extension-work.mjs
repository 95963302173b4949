/**
 * Goals and workflows pinned above the input, with what the user decides about them, and agents in git work trees, whose
 * changes are reviewed hunk by hunk. Packed, with the real server; the model is scripted. With words of the names of its
 * cases: only those.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";

import { frameOf, violations } from "./audit.mjs";
import { makeBed, spread } from "./bed.mjs";
import { dialog, editorTab, reloadWindow } from "./controls.mjs";
import { palette, screenshot, until } from "./workbench.mjs";

const bed = await makeBed("work");
const model = await bed.useScriptedModel();
const project = await bed.sampleProject();
const notes = path.join(project, "notes.py");
await writeFile(notes, spread("FIRST = 1", "SECOND = 2"));
const git = (...args) => execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.org", ...args], { cwd: project });
git("init", "-q");
git("add", ".");
git("commit", "-qm", "first");
const { chat, page } = await bed.start({ workspace: project, size: { width: 1400, height: 900 } });

const CHECK = "test -f made.txt";
const goal = (action, more) => [["goal", { action, ...more }]];
const SET = goal("set", { statement: "The lamp is bright", criteria: [{ text: "it is made", command: CHECK }, { text: "it reads well" }] });
const work = chat.frame.locator("#work");
const button = (name) => work.getByRole("button", { name, exact: true });
const unfold = async () => (await work.getAttribute("open")) === null && (await work.locator("summary").click());
const counts = (wanted) => until(`the counts ${wanted}`, async () => wanted.test(await work.innerText()));
/** All of it was seen, so that its buttons can be pressed. */
const choose = async (kind, name) => {
  await chat.question(kind).waitFor();
  await chat.question(kind).locator(".body").evaluateAll((bodies) => bodies.forEach((body) => body.scrollTo(0, body.scrollHeight)));
  await chat.decide(kind, name);
};
const audited = async () => assert.deepEqual(await violations(await frameOf(chat.frame)), []);

await bed.each({
  async "a goal is pinned with its criteria, and evidence becomes stale"() {
    const make = (name) => [["edit_create_file", { path: name, content: "x\n" }]];
    model.answers.push(SET, make("made.txt"), [["shell_run", { command: CHECK }]], goal("evidence", { id: "c1" }), "Made.");
    await chat.send("make it bright");
    await choose("edit", "Accept");
    await choose("command", "Run");
    await chat.idle();
    await counts(/Goal 1\/2/);
    assert.match(await work.innerText(), /The lamp is bright/);
    await unfold();
    assert.match(await work.locator(".criterion.met").innerText(), /it is made.*test -f made\.txt\s+exit code 0/s);
    await screenshot(page, "work-1-goal");
    await audited();
    model.answers.push(make("more.txt"), "More.");
    await chat.send("and more");
    await choose("edit", "Accept");
    await chat.idle();
    await counts(/Goal 0\/2/);
    assert.match(await work.locator(".criterion.stale").innerText(), /files have changed since/);
    await screenshot(page, "work-2-stale");
  },

  async "what nobody can run is confirmed, the goal is edited as a document, and the model is told"() {
    await unfold();
    await work.getByRole("button", { name: "Confirm: it reads well" }).click();
    await counts(/Goal 1\/2/);
    assert.match(await work.locator(".criterion.met").innerText(), /it reads well.*the user confirmed it/s);
    await button("Edit the Goal").click();
    await editorTab(page, "Goal.md").waitFor();
    await page.keyboard.press("Control+End");
    await page.keyboard.press("Enter");
    await page.keyboard.type("- [ ] it is cheap");
    await page.keyboard.press("Control+S");
    await counts(/Goal 1\/3/);
    await palette(page, "View: Close All Editors");
    model.answers.push("I go on.");
    await button("Continue").click();
    await until("the model's answer", async () => (await chat.row("answer").last().innerText()).includes("I go on."));
    await chat.idle();
    const sent = JSON.stringify(model.requests.at(-1).messages.at(-1));
    assert.match(sent, /\[x\] c2: it reads well/);
    assert.match(sent, /it is cheap/);
    assert.match(sent, /Continue with the goal of this conversation/);
  },

  async "it is the same after the window was loaded again, until the goal is dropped"() {
    await reloadWindow(page);
    await palette(page, "North: Show Chat");
    await counts(/Goal 1\/3/);
    await unfold();
    assert.match(await work.locator(".criterion.stale").innerText(), /it is made/);
    await button("Drop the Goal").click();
    await dialog(page).getByRole("button", { name: "Keep" }).click();
    await counts(/Goal 1\/3/);
    await button("Drop the Goal").click();
    await dialog(page).getByRole("button", { name: "Drop", exact: true }).click();
    await work.waitFor({ state: "hidden" });
  },

  async "a workflow is pinned with its phases and why edits and commands wait, and is ended by the user"() {
    await chat.renew();
    const refused = [["edit_create_file", { path: "early.txt", content: "x\n" }]];
    model.answers.push([["workflow", { action: "move", to: "explore" }]], [["list_root", {}]], refused, "I look around.");
    await chat.ask("/work start clarify A better lamp");
    await counts(/Workflow clarify\s+explore/);
    await unfold();
    assert.match(await work.innerText(), /Edits and commands wait until clarify has ended.*1\d read-only calls are left/s);
    assert.equal(await work.locator(".phases [aria-current=step]").evaluate((step) => step.firstChild.textContent), "explore");
    assert.match(JSON.stringify(model.requests.at(-1).messages), /BLOCKED: clarify is active/);
    await screenshot(page, "work-3-workflow");
    await audited();
    await button("End the Workflow").click();
    await screenshot(page, "work-4-ending");
    await dialog(page).getByRole("button", { name: "End", exact: true }).click();
    await work.waitFor({ state: "hidden" });
  },

  async "what an agent changed in its work tree is one proposal with its name, decided hunk by hunk"() {
    await chat.renew();
    const replace = (old, text) => [["edit_replace_exact", { path: "notes.py", old, new: text }]];
    model.answers.push(
      [["task", { tasks: [{ id: "one", agent: "executor", prompt: "Change both", isolation: "worktree" }] }]],
      [["read_file", { path: "notes.py" }]],
      replace("FIRST = 1", "FIRST = 10"),
      replace("SECOND = 2", "SECOND = 20"),
      [["submit_result", { result: { done: true, files: [], checks: [], open: [] }, summary: "Both are changed." }]],
      "It is done.",
    );
    await chat.send("have it changed");
    await chat.question("edit").waitFor();
    assert.match(await chat.question("edit").innerText(), /executor \(0-one\)/);
    const lens = (text) => page.locator(".editor.modified .codelens-decoration a", { hasText: text });
    await lens("Reject").first().waitFor();
    await screenshot(page, "work-5-tree");
    await lens("Reject").first().click();
    await lens("Decide Again").first().waitFor();
    await screenshot(page, "work-6-tree-hunk");
    await lens("Accept").first().click();
    await chat.idle();
    assert.equal(await readFile(notes, "utf8"), spread("FIRST = 1", "SECOND = 20"));
    assert.equal(git("worktree", "list", "--porcelain").toString().match(/^worktree /gm).length, 1);
    await screenshot(page, "work-7-tree-done");
  },
});
