/** What axe-core, the accessibility tree, live regions, contrasts and frames say of the chat's page, whatever it shows. */
import assert from "node:assert/strict";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";

import { flat, frameOf, frameTimes, listen, THEMES } from "./audit.mjs";
import { fakeNorth } from "./bed.mjs";
import { openFile } from "./controls.mjs";
import { Keyboard } from "./keyboard.mjs";
import { auditedPage, holds, named, shot } from "./people.mjs";
import { called, diffOf, failed, notes, plans, says, streamed, text, thinks, waits } from "./updates.mjs";
import { palette, until } from "./workbench.mjs";

const markdown = [
  "## What it does\n\nWords and [a place](hello/hello.py) in them. See [greet](hello/hello.py#L4), `hello/hello.py:8` and https://example.com/page.",
  "| function | number |\n|:--|--:|\n| `greet` | 12 |",
  "- [x] done\n- [ ] not done\n- plain\n  - inner", "> quoted\n\n1. one\n2. two",
  "```python hello/hello.py\ndef greet(name):  # says hello\n    return f'Hello {name}', 12\n```", "```diff\n-old\n+new\n```",
  `\`\`\`\n${"a long line ".repeat(30)}\n\`\`\``,
].join("\n\n");

/** The cases on a server that plays what it is told; `start` gives them their bed. */
export function seenAndHeard() {
  let bed, chat, page, hello, goOn;

  async function start(given) {
    bed = given;
    const workspace = bed.path("workspace");
    hello = path.join(workspace, "hello/hello.py");
    goOn = bed.path("go-on");
    await mkdir(path.dirname(hello), { recursive: true });
    await writeFile(hello, "import os\n\n\ndef greet(name):\n    return name\n");
    ({ chat, page } = await bed.start({
      workspace,
      machine: { "north.server.path": fakeNorth },
      settings: { "workbench.colorTheme": THEMES[0] },
      env: { FAKE_NORTH_ANSWER: "ok" },
      size: { width: 1280, height: 900 },
      ready: false,
    }));
  }

  const frame = () => frameOf(chat.frame);

  /** Plays updates; `meanwhile` runs while a `{ until: goOn }` among them holds the turn. */
  async function play(steps, meanwhile = async () => {}, deadline = 180_000) {
    await rm(goOn, { force: true });
    const file = bed.path("play.json");
    await writeFile(file, JSON.stringify(steps));
    const before = await chat.row("user").count();
    await chat.send(`play ${file}`);
    await until("the prompt", async () => (await chat.row("user").count()) > before);
    try {
      await meanwhile();
    } finally {
      await writeFile(goOn, "");
    }
    await until("the end of the turn", async () => !(await chat.frame.locator("#stop").isVisible()), deadline);
  }

  const audited = (state) => auditedPage({ chat, page }, state);

  const cases = {
    async "the first page"() {
      const nodes = await audited("first-page");
      holds(nodes, "combobox", "Message to North");
      holds(nodes, "button", "Send", "Attach…");
    },

    async "a conversation with everything in it"() {
      await play([
        thinks("I think about **it**, and `that`."),
        plans(["read", "completed"], ["write", "in_progress"], ["test", "pending"]),
        ...["a", "b", "c"].map((id) => called(id, { title: `Reading ${id}.py`, kind: "read", status: "completed", _meta: { north: { group: "g" } } })),
        called("e", { title: "Edited hello/hello.py", kind: "edit", status: "completed", content: [diffOf(hello, "import os\n\nold\n", "import os\n\nnew\n")] }),
        called("x", { title: "Ran `npm test`", kind: "execute", status: "completed", rawInput: { command: "npm test" }, content: text(`\`\`\`\n${"line of output\n".repeat(40)}\`\`\``) }),
        called("f", { title: "Reading nope.py", kind: "read", status: "failed", content: text("nope.py does not exist in this project") }),
        notes("info", "Told."), notes("warning", "Warned."), notes("error", "Wrong."),
        waits(0, 1, "completed"),
        says(markdown),
      ]);
      await chat.row("thought").locator("summary").click();
      for (const id of ["e", "x"]) await chat.rows.and(chat.frame.locator(`[data-id="tool:${id}"]`)).locator(".line > .icon").click();
      await chat.frame.locator(".group-head").click();
      const nodes = await audited("conversation");
      holds(nodes, "feed", "Conversation");
      holds(nodes, "article", "You", "Thoughts", "Plan", "Read 3 times", "done: Read a.py", "failed: Reading nope.py", "Warned.", "North");
      holds(nodes, "button", "Copy", "Insert at Cursor", "Apply to File…", "Open Diff", "Details: Ran npm test");
      holds(nodes, "link", "greet", "https://example.com/page");
      assert.equal(named(nodes, "listitem").length >= 9, true);
      assert.deepEqual(flat(nodes).filter(({ role }) => role === "checkbox").map(({ name, said }) => [name, said.checked]), [["done", "true"], ["to be done", "false"]]);
    },

    async "a running command with its output, and the wait for a model"() {
      const running = called("c", { title: "Running npm test", kind: "execute", status: "in_progress", rawInput: { command: "npm test" }, content: text(`\`\`\`\n${"one\n".repeat(30)}\`\`\``) });
      await play([running, waits(30, 2), { until: goOn }, called("c", { status: "completed" }), waits(0, 2, "completed")], async () => {
        await chat.row("tool").locator(".output").waitFor();
        await chat.row("retry").getByRole("button", { name: "Give up" }).waitFor();
        await chat.input.fill("and more"); // to be said now, or later
        await chat.frame.locator("#steer").waitFor();
        const nodes = await audited("running");
        await chat.input.fill("");
        holds(nodes, "article", "running: Running npm test", "The model did not answer");
        holds(nodes, "button", "Stop", "Steer", "Try now", "Give up");
      });
    },

    async "a command that waits to be approved"() {
      const command = "npm test && rm -rf build";
      const toolCall = { toolCallId: "c", title: "Run it", kind: "execute", rawInput: { command }, content: text(`\`\`\`sh\n${command}\n\`\`\`\n\nIt removes files.`) };
      const options = [{ optionId: "run", name: "Run", kind: "allow_once" }, { optionId: "always", name: "Always run this", kind: "allow_always" }, { optionId: "deny", name: "Deny", kind: "reject_once" }];
      await chat.send(`ask ${JSON.stringify({ toolCall, options })}`);
      await chat.frame.locator("#waiting").getByRole("button", { name: "Run", exact: true }).and(chat.frame.locator(":enabled")).waitFor();
      const nodes = await audited("approval");
      holds(nodes, "button", "Run", "Always run this…", "Deny");
      holds(nodes, "textbox", /Deny and say why/);
      holds(nodes, "region", "North asks you", "What it is about");
      await chat.frame.locator("#waiting").getByRole("button", { name: "Deny" }).click();
      await chat.idle();
    },

    async "by keyboard: a long command is read to its end before it can be allowed"() {
      const keyboard = new Keyboard(page, chat);
      const command = "echo line\n".repeat(60);
      const toolCall = { toolCallId: "c", title: "Run it", kind: "execute", rawInput: { command }, content: text(`\`\`\`sh\n${command}\`\`\``) };
      const options = [{ optionId: "run", name: "Run", kind: "allow_once" }, { optionId: "deny", name: "Deny", kind: "reject_once" }];
      await chat.send(`ask ${JSON.stringify({ toolCall, options })}`);
      const run = chat.frame.locator("#waiting").getByRole("button", { name: "Run", exact: true });
      await run.waitFor();
      await keyboard.walkTo((one) => one.name === "What it is about", { back: true, most: 8 });
      assert.equal(await run.isDisabled(), true);
      await until("its end", async () => {
        await keyboard.press("PageDown");
        return run.isEnabled();
      });
      await keyboard.walkTo((one) => one.inQuestion && one.name === "Run", { most: 3 });
      await keyboard.press("Enter");
      await chat.row("answer").filter({ hasText: "run" }).waitFor();
      await chat.idle();
      assert.equal((await keyboard.at()).id, "input");
    },

    async "a form that waits to be filled in"() {
      const options = [{ const: "s", title: "Small" }, { const: "l", title: "Large" }];
      const properties = {
        size: { type: "string", title: "Which size?", oneOf: options },
        parts: { type: "array", title: "Which parts?", items: { anyOf: options } },
        count: { type: "integer", title: "How many?", description: "From 1 to 9.", minimum: 1, maximum: 9 },
        tests: { type: "boolean", title: "With tests" },
      };
      await chat.send(`elicit ${JSON.stringify({ mode: "form", message: "Some things.", requestedSchema: { type: "object", properties, required: ["count"] } })}`);
      const card = chat.frame.locator("#waiting");
      await card.getByRole("radio", { name: "Large" }).check();
      await card.getByRole("checkbox", { name: "Small" }).check();
      const body = card.locator(".body");
      await body.evaluate((one) => one.scrollTo(0, one.scrollHeight));
      await card.getByRole("button", { name: "Answer", exact: true }).click();
      await card.locator(".problem", { hasText: "How many?: this must be filled in." }).waitFor();
      const nodes = await audited("form");
      holds(nodes, "radio", "Small", "Large");
      holds(nodes, "checkbox", "Small", "Large", "With tests");
      holds(nodes, "textbox", "How many?");
      holds(nodes, "button", "Answer", "Do Not Answer");
      await card.getByLabel("How many?").fill("3");
      await card.getByLabel("How many?").press("Enter");
      await chat.row("answer").filter({ hasText: '"count": 3' }).waitFor();
      await chat.idle();
    },

    async "an edit that waits for a review"() {
      const toolCall = { toolCallId: "e", title: "Edit hello/hello.py", kind: "edit", content: [diffOf(hello, await readFile(hello, "utf8"), "import sys\n")] };
      const options = [{ optionId: "yes", name: "Accept", kind: "allow_once" }, { optionId: "no", name: "Reject", kind: "reject_once" }];
      await chat.send(`ask ${JSON.stringify({ toolCall, options })}`);
      await chat.question("edit").getByRole("button", { name: "Accept", exact: true }).and(chat.frame.locator(":enabled")).waitFor();
      const nodes = await audited("review");
      holds(nodes, "button", "Show changes", "Accept", "Reject");
      await chat.question("edit").getByRole("button", { name: "Reject", exact: true }).click();
      await chat.idle();
      await palette(page, "View: Close All Editors");
    },

    async "an answer that failed"() {
      await play([says("I begin"), failed("Anthropic refused the key (401)"), { answer: { _meta: { north: { error: { kind: "auth", status: 401, retryable: false } } } } }]);
      await chat.row("failure").getByRole("button", { name: "Try Again" }).waitFor();
      const nodes = await audited("failure");
      holds(nodes, "article", "The request failed");
      holds(nodes, "button", "Store a Key…", "Try Again");
    },

    async "the input with chips and suggestions"() {
      await openFile(page, "hello.py");
      await chat.frame.locator(".chip.suggested").waitFor();
      await chat.input.pressSequentially("@file");
      await chat.frame.locator("#offers [role=option]", { hasText: "@file" }).waitFor();
      await chat.input.press("Enter");
      await chat.frame.locator(".chip:not(.suggested)").first().waitFor();
      await chat.input.pressSequentially(" @");
      await until("suggestions", async () => (await chat.frame.locator("#offers [role=option]").count()) > 4);
      const nodes = await audited("input");
      holds(nodes, "button", /^Remove .*hello/, "Attach…");
      holds(nodes, "listbox", "Suggestions");
      assert.equal(flat(nodes).find(({ role }) => role === "combobox").said.expanded, true);
      await chat.input.fill("");
      await palette(page, "View: Close All Editors");
    },

    async "each answer is heard once, when it is whole, and nothing is heard of its pieces"() {
      const heard = await listen(await frame());
      await play(streamed("One answer of several words, and then some more of them.\n\nAnd a second paragraph.", 3, 10));
      const said = async () => (await heard()).filter(({ region }) => region === "announce");
      await until("the answer to be said", async () => (await said()).length > 0);
      const all = await heard();
      assert.deepEqual((await said()).map(({ text: words }) => words), ["One answer of several words, and then some more of them.\nAnd a second paragraph."]);
      assert.deepEqual(all.filter(({ region }) => region !== "announce").map(({ text: words }) => words), ["working"]);
      assert.ok(all.every(({ politeness }) => politeness === "polite"), JSON.stringify(all));
    },

    async "100 KB of an answer stream in, and what is selected and focused stays so"() {
      await play([called("old", { title: "Reading a.py", kind: "read", status: "completed", content: text("x") }), says("The words that are selected.\n")]);
      const selected = chat.row("answer").first();
      await selected.locator("p").evaluate((words) => getSelection().selectAllChildren(words));
      const details = chat.row("tool").first().getByRole("button", { name: "Details: Read a.py" });
      await details.focus();
      const paragraph = "Some **words** of an answer with `code`, [links](a/b.py#L3) and more of them, until the line is full.\n\n";
      const whole = (paragraph.repeat(6) + "```ts\nconst a = 1; // why\nreturn f(a);\n```\n\n- one\n- two\n\n| a | b |\n|--|--|\n| 1 | 2 |\n\n").repeat(140).slice(0, 100_000);
      const inner = await frame();
      const file = bed.path("play.json");
      await writeFile(file, JSON.stringify(streamed(whole, 60, 8)));
      await chat.input.evaluate((input, words) => (input.value = words), `play ${file}`);
      await chat.frame.locator("#send").evaluate((button) => button.click());
      await chat.frame.locator("#stop").waitFor();
      await frameTimes(inner);
      await until("the end of the turn", async () => !(await chat.frame.locator("#stop").isVisible()), 180_000);
      bed.log(`  100 KB of an answer: ${await frameTimes(inner)}`);
      assert.equal(await inner.evaluate(() => String(getSelection())), "The words that are selected.");
      assert.equal(await details.evaluate((button) => button === document.activeElement), true);
    },

    async "2,000 entries: Tab passes them by, the arrows lead through them, and they are quick"() {
      const entries = Array.from({ length: 400 }, (_, index) => [
        says(`Answer ${index} with **some** words and [a link](a.py).\n\n- one\n- two\n\n\`\`\`py\nreturn ${index}\n\`\`\`\n`),
        called(`r${index}`, { title: `Reading file${index}.py`, kind: "read", status: "completed", content: text("x\ny") }),
        called(`e${index}`, { title: `Edited ${index}.py`, kind: "edit", status: "completed", content: [diffOf(hello, "a\n", "b\n")] }),
        called(`s${index}`, { title: `Ran ${index}`, kind: "execute", status: "completed", content: text("```\nout\n```") }),
        notes("info", `Notice ${index}`),
      ]).flat();
      let begin = performance.now();
      await play(entries);
      await until("all entries", async () => (await chat.rows.count()) >= 2_000);
      bed.log(`  2,000 entries came in ${Math.round(performance.now() - begin)} ms`);
      const inner = await frame();
      const keyboard = new Keyboard(page, chat);
      await chat.input.focus();
      const trail = await keyboard.walkTo((at) => at.isRow, { back: true, most: 10 });
      bed.log(`  from the input to the conversation: ${trail.length} times Tab`);
      const controls = await inner.evaluate(() => document.querySelectorAll("#rows :is(button, a, summary)").length);
      const stops = await inner.evaluate(() => [...document.querySelectorAll("#rows :is(button, a, summary, [tabindex])")].filter((one) => one.tabIndex >= 0).length);
      bed.log(`  ${controls} controls in the conversation, ${stops} of them stops of the Tab key`);
      assert.ok(stops <= 8, `${stops} stops`);
      await frameTimes(inner);
      begin = performance.now();
      for (let count = 0; count < 100; count += 1) await page.keyboard.press("ArrowUp");
      bed.log(`  100 times ArrowUp: ${Math.round(performance.now() - begin)} ms; ${await frameTimes(inner)}`);
      const at = await inner.evaluate(() => document.activeElement.closest(".row").getAttribute("aria-posinset"));
      assert.ok(Number(at) < 2_001 - 60, `at ${at}`);
      const seen = await inner.evaluate(() => {
        const [row, list] = [document.activeElement, document.querySelector("#rows")].map((one) => one.getBoundingClientRect());
        return row.bottom > list.top && row.top < list.bottom;
      });
      assert.ok(seen, "the row with the focus is not in view");
      await page.keyboard.press("Home");
      await until("the first row", () => inner.evaluate(() => document.activeElement.getAttribute("aria-posinset") === "1"));
      await shot(page, "many");
      const leaving = await keyboard.walkTo((one) => one.id === "input", { most: 12 });
      bed.log(`  from the oldest row back to the input: ${leaving.length} times Tab`);
      await frameTimes(inner);
      await inner.evaluate(async () => {
        const list = document.querySelector("#rows");
        for (let place = list.scrollHeight; place > 0; place -= 400) {
          list.scrollTop = place;
          await new Promise(requestAnimationFrame);
        }
      });
      bed.log(`  scrolling through 2,000 entries: ${await frameTimes(inner)}`);
    },
  };

  async function before() {
    if ((await chat.rows.count()) > 0) await palette(page, "North: New Chat");
    await until("an empty chat", async () => (await chat.rows.count()) === 0);
  }

  return { start, cases, before };
}
