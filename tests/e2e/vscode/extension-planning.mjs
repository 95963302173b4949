/** The todo list, questions and plan mode in North's extension; the model is scripted. */
import assert from "node:assert/strict";

import { frameOf, violations } from "./audit.mjs";
import { makeBed } from "./bed.mjs";
import { editorTab } from "./controls.mjs";
import { palette, screenshot, until } from "./workbench.mjs";

const bed = await makeBed("planning");
const model = await bed.useScriptedModel();
const { chat, page } = await bed.start({ workspace: await bed.sampleProject() });
const INIT = { op: "init", list: [{ phase: "Read", items: ["look around", "write it down"] }] };
const PLAN = ["Goal", "Findings", "Steps", "Risks", "Out of scope"].map((name) => `# ${name}\n${name === "Steps" ? "1. Look" : "x"}\n`).join("");

await bed.each({
  async "the todo list is pinned, and its document is edited"() {
    model.answers.push([["todo", { ops: [INIT, { op: "done", task: "look around" }] }]], "So far.", "I wait.");
    await chat.ask("do it");
    const todo = chat.frame.locator("#todo");
    await until("the counts", async () => /Todo 1\/2/.test(await todo.innerText()));
    await todo.locator("summary").click();
    assert.match(await todo.innerText(), /write it down/);
    await screenshot(page, "planning-todo");
    await todo.locator("button").click();
    await editorTab(page, "Todo.md").waitFor();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("- [ ] tell me");
    await page.keyboard.press("Control+S");
    await until("the new task", async () => /Todo 1\/3/.test(await todo.innerText()));
    model.answers.push("I see.", "I wait.");
    await chat.ask("go on");
    assert.match(JSON.stringify(model.requests), /added: tell me/);
    await palette(page, "View: Close All Editors");
  },

  async "agents at work are rows, and the conversation of one opens"() {
    model.answers.push([["task", { tasks: [{ id: "look", agent: "task", prompt: "Look around" }] }]], [["submit_result", { result: "Nothing there." }]], "It says so.");
    await chat.ask("have it looked at");
    const row = chat.frame.locator(".row.tool", { hasText: "Agents: 1 of 1 tasks done" });
    await row.locator(".line .icon").click();
    const task = row.locator(".task");
    await until("the task", async () => /task/.test(await task.innerText()));
    await screenshot(page, "planning-agents");
    await task.locator("button").first().click();
    await editorTab(page, "0-look.md").waitFor();
    await until("the agent's conversation", async () => /Look\saround/.test(await page.locator(".editor-group-container.active .view-lines").innerText()));
    await palette(page, "View: Close All Editors");
  },

  async "a question is answered in one's own words"() {
    model.answers.push([["ask", { questions: [{ id: "q", question: "Which one?", options: [{ label: "A" }, { label: "B" }] }] }]], "Good.");
    await chat.renew();
    await chat.send("ask me");
    const card = chat.frame.locator("#waiting");
    await card.getByLabel("Other (type your own)").waitFor();
    await screenshot(page, "planning-question");
    await card.getByLabel("Other (type your own)").fill("Neither");
    await card.locator(".buttons button").first().and(chat.frame.locator(":enabled")).waitFor(); // all of it was seen
    await card.getByLabel("Other (type your own)").press("Enter");
    await chat.idle();
    assert.match(JSON.stringify(model.requests), /Own answer: Neither/);
    assert.match(await chat.row("choice").last().innerText(), /Which one\? — Neither/);
  },

  async "several questions are one form, which outlives another view in its place"() {
    const questions = [
      { id: "size", question: "Which size?", options: [{ label: "Small", description: "fits everywhere" }, { label: "Large" }], recommended: 1 },
      { id: "parts", question: "Which parts?", multi: true, options: [{ label: "First" }, { label: "Second" }, { label: "Third" }] },
    ];
    model.answers.push([["ask", { questions }]], "Good.");
    await chat.renew();
    await chat.send("ask me twice");
    const card = chat.frame.locator("#waiting");
    const box = (name) => card.getByRole("checkbox", { name });
    await box("First").waitFor();
    assert.equal(await card.getByRole("radio", { name: /^Large/ }).isChecked(), true); // what is recommended
    await box("First").check();
    await palette(page, "View: Show Explorer");
    await page.locator(".explorer-folders-view").waitFor();
    await palette(page, "North: Show Chat");
    await until("what was ticked", () => box("First").isChecked());
    await box("Third").check();
    await card.getByRole("radio", { name: /^Small/ }).check();
    await screenshot(page, "planning-form");
    assert.deepEqual(await violations(await frameOf(chat.frame)), []);
    await card.locator(".body").evaluate((body) => body.scrollTo(0, body.scrollHeight));
    await card.getByRole("button", { name: "Answer", exact: true }).click();
    await chat.idle();
    assert.match(JSON.stringify(model.requests), /size: Chosen: Small.*parts: Chosen: First, Third/);
  },

  async "a plan is rejected with a comment, edited, and approved"() {
    const card = chat.frame.locator("#waiting");
    await chat.renew();
    await chat.ask("/plan on");
    model.answers.push([["write_plan", { content: PLAN }]], [["exit_plan_mode", { summary: "Look." }]], [["exit_plan_mode", { summary: "Again." }]], "Carried out.", "I wait.");
    await chat.send("plan it");
    await until("the plan", async () => /Approve this plan/.test(await card.innerText()));
    await screenshot(page, "planning-plan");
    await card.locator("input").fill("Look twice");
    await card.locator("input").press("Enter");
    await until("the plan again", async () => /Again\./.test(await card.innerText()));
    assert.match(model.last(), /Look twice/);
    await card.locator(".body").evaluate((body) => body.scrollTo(0, body.scrollHeight));
    await card.getByRole("button", { name: "Edit the plan" }).click();
    await editorTab(page, "plan.md").waitFor();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("My own words.");
    await page.keyboard.press("Control+S");
    await until("the question again", async () => /Save the plan when you have edited it/.test(await card.innerText()));
    await card.locator(".body").evaluate((body) => body.scrollTo(0, body.scrollHeight));
    await card.getByRole("button", { name: "Approve and execute" }).click();
    await until("what follows", async () => (await chat.row("answer").last().innerText()).includes("I wait."));
    await chat.idle();
    assert.match(JSON.stringify(model.requests), /My own words\..*I approve the plan/);
  },
});
