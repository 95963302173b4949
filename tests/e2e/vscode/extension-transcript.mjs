/**
 * The conversation on the page: whatever the server sends is there, and what is looked at stays as it is while more comes.
 * Long ones are in `extension-people.mjs`. With names of cases: only those.
 */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { Chat } from "./chat.mjs";
import { packedExtension, userDataFor } from "./packed.mjs";
import { diffEditorLines, notification, palette, screenshot, startServer, until, visibleLines, webview } from "./workbench.mjs";

const fake = fileURLToPath(new URL("fake-north-lsp", import.meta.url));
const folder = await mkdtemp(path.join(tmpdir(), "north-e2e-transcript-"));
const workspace = path.join(folder, "workspace");
await mkdir(path.join(workspace, "hello"), { recursive: true });
const hello = path.join(workspace, "hello/hello.py");
const original = "import os\n\n\ndef greet(name):\n    return name\n\n\nLAST = 1\n";
await writeFile(hello, original);
await writeFile(path.join(folder, "outside.txt"), "secret\n");
await symlink(path.join(folder, "outside.txt"), path.join(workspace, "inside.txt"));

const says = (text) => ({ sessionUpdate: "agent_message_chunk", messageId: "m", content: { type: "text", text } });
const thinks = (text) => ({ ...says(text), sessionUpdate: "agent_thought_chunk" });
const called = (toolCallId, more) => ({ sessionUpdate: "tool_call_update", toolCallId, ...more });
const text = (text) => [{ type: "content", content: { type: "text", text } }];
const diff = (oldText, newText, meta) => ({ type: "diff", path: hello, oldText, newText, ...(meta ? { _meta: { north: meta } } : {}) });
const waits = (seconds, attempt, status = "in_progress") =>
  called("retry-1", {
    title: `Trying again in ${seconds} s (${attempt} of 5): Anthropic answered 529: overloaded`,
    status,
    _meta: { north: { retry: { attempt, maxAttempts: 5, remainingMs: seconds * 1000, kind: "overloaded" } } },
  });
const failed = (reason) => ({ ...says(`**The request failed:** ${reason}`), _meta: { north: { failure: { text: reason } } } });

const cases = {
  /** A command's output comes into view while it runs, and is folded when it is over. */
  async output({ chat, play, gate }) {
    const command = called("c", { title: "Running npm test", kind: "execute", status: "in_progress", rawInput: { command: "npm test", timeout: 60 } });
    const [goesOn, ends] = [gate(), gate()];
    await play(
      [command, called("c", { content: text("```\none\n```") }), goesOn.step, called("c", { content: text("```\none\ntwo\n```") }), ends.step,
        called("c", { status: "completed", content: text("```\none\ntwo\nthree\n```") })],
      async () => {
        await chat.row("tool").locator(".output", { hasText: "one" }).waitFor();
        await goesOn.open();
        await chat.row("tool").locator(".output", { hasText: "two" }).waitFor();
        await chat.shot("output-live");
        await ends.open();
      },
    );
    await chat.row("tool").locator(".details").waitFor({ state: "hidden" });
    await chat.row("tool").locator(".call", { hasText: "Ran npm test" }).click();
    await chat.row("tool").locator(".output", { hasText: "three" }).waitFor();
    await chat.row("tool").locator(".input", { hasText: "timeout" }).waitFor();
    await chat.shot("output");
  },

  /** Why a call failed is there without a click. */
  async reasons({ chat, play }) {
    await play([
      called("c", { title: "Reading nope.py", kind: "read", status: "pending" }),
      called("c", { status: "failed", content: text("nope.py does not exist in this project") }),
    ]);
    await chat.row("tool").locator(".reason", { hasText: "nope.py does not exist" }).waitFor();
    assert.equal(await chat.row("tool").locator(".mark.failed.codicon-error").count(), 1);
    await chat.shot("reason");
  },

  /** An edit is seen while it is written; what it changed is there later, in lines and in the diff editor. */
  async edits({ chat, play, page, gate }) {
    const after = original.replace("return name", 'return f"Hello {name}"');
    const isWritten = gate();
    await play(
      [called("c", { title: "Editing hello/hello.py", kind: "edit", status: "pending" }),
        called("c", { content: [diff("    return name\n", "    return f", { preview: true, line: 5 })] }), isWritten.step,
        called("c", { status: "completed", title: "Edited hello/hello.py", content: [diff(original, after)] })],
      async () => {
        await chat.row("tool").locator(".preview .added", { hasText: "return f" }).waitFor();
        await chat.shot("preview");
        await isWritten.open();
      },
    );
    await chat.row("tool").locator(".counts", { hasText: "+1−1" }).waitFor();
    await chat.row("tool").locator(".line > .icon").click();
    await chat.row("tool").locator(".hunk .added", { hasText: 'return f"Hello {name}"' }).waitFor();
    await chat.shot("edit");
    await chat.row("tool").getByRole("button", { name: "Open Diff" }).click();
    await page.locator(".tabs-container .tab", { hasText: "changed by North" }).waitFor();
    await until("both sides", async () => {
      const { original: left, modified } = await diffEditorLines(page);
      return left.includes("    return name") && modified.includes('    return f"Hello {name}"');
    });
    await screenshot(page, "transcript-diff-later");
    await palette(page, "View: Close All Editors");
  },

  /** Calls that look are one line, which can be opened. */
  async groups({ chat, play }) {
    const calls = ["a", "b", "c", "d"].map((id) =>
      called(id, { title: `Reading ${id}.py`, kind: "read", status: "completed", _meta: { north: { group: "a" } } }));
    await play([...calls, says("Read.")]);
    const head = chat.frame.locator(".group-head");
    await head.filter({ hasText: "Read 4 times" }).waitFor();
    assert.equal(await chat.row("tool").first().isVisible(), false);
    await head.click();
    await chat.row("tool").locator(".title", { hasText: "Read d.py" }).waitFor();
    assert.equal(await chat.frame.locator("#welcome").isVisible(), false);
    await chat.shot("group");
  },

  /** What the user has opened, selected or focused stays so while more comes. */
  async stays({ chat, play, gate }) {
    const words = Array.from({ length: 40 }, (_, index) => says(`word${index} `));
    const [thinksOn, saysMore, waitsOn, ends] = [gate(), gate(), gate(), gate()];
    await play(
      [thinks("I think"), thinksOn.step, ...Array.from({ length: 10 }, () => [thinks(" and think"), 20]).flat(), says("first paragraph of the answer\n\n"), saysMore.step,
        ...words.flatMap((piece) => [piece, 10]), waits(3, 1), waitsOn.step, waits(2, 1), waits(1, 1), ends.step, waits(0, 1, "completed")],
      async () => {
        const thoughts = chat.row("thought").locator("details");
        await thoughts.locator("summary").click();
        await thinksOn.open();
        await until("more thoughts", async () => /(think.*){6}/s.test((await thoughts.textContent()) ?? ""));
        assert.equal(await thoughts.evaluate((details) => details.open), true);
        const answer = chat.row("answer");
        await answer.locator("p", { hasText: "first paragraph" }).waitFor();
        await answer.locator("p").first().evaluate((words) => getSelection().selectAllChildren(words));
        await saysMore.open();
        await until("more of the answer", async () => (await answer.textContent()).includes("word30"));
        assert.equal(await answer.evaluate(() => String(getSelection())), "first paragraph of the answer");
        const giveUp = chat.row("retry").getByRole("button", { name: "Give up" });
        await giveUp.focus();
        await waitsOn.open();
        await chat.row("retry").locator(".retry-words", { hasText: "in 1 s" }).waitFor();
        assert.equal(await giveUp.evaluate((button) => button === document.activeElement), true);
        await chat.shot("retry");
        await ends.open();
      },
    );
    await chat.row("retry").locator(".retry-words", { hasText: "was asked again" }).waitFor();
    assert.equal(await chat.row("retry").locator(".reason").textContent(), "Anthropic answered 529: overloaded");
  },

  /** A failure is no answer, and its buttons do something. */
  async failures({ chat, play, page }) {
    await play([says("I begin"), failed("Anthropic refused the key (401)"), { answer: { _meta: { north: { error: { kind: "auth", status: 401, retryable: false } } } } }]);
    const row = chat.row("failure");
    await row.locator(".reason", { hasText: "refused the key" }).waitFor();
    await row.getByRole("button", { name: "Store a Key…" }).waitFor();
    await chat.shot("failure");
    const before = await chat.row("user").count();
    await row.getByRole("button", { name: "Try Again" }).click();
    await until("the prompt to be sent again", async () => (await chat.row("user").count()) === before + 1);
    await chat.idle();
  },

  /** What is to be decided is seen whole: nothing of it is beside the page, or in a box that scrolls by itself. In a low
   * window the input stays in view all the same. */
  async approval({ chat, page }) {
    const command = `echo ${"a".repeat(400)} && rm -rf everything\n${"echo line\n".repeat(60)}`;
    const toolCall = { toolCallId: "c", title: "Run it", kind: "execute", rawInput: { command }, content: text(`\`\`\`sh\n${command}\n\`\`\``) };
    const options = [{ optionId: "run", name: "Run", kind: "allow_once" }, { optionId: "deny", name: "Deny", kind: "reject_once" }];
    await chat.send(`ask ${JSON.stringify({ toolCall, options })}`);
    const body = chat.frame.locator("#waiting .body");
    await body.waitFor();
    const scrolling = await body.evaluate((box) =>
      [...box.querySelectorAll("*"), box].filter((one) => one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0).length +
      [...box.querySelectorAll("*")].filter((one) => one.scrollHeight > one.clientHeight + 1 && getComputedStyle(one).overflowY !== "visible").length);
    assert.equal(scrolling, 0);
    const run = chat.frame.locator("#waiting").getByRole("button", { name: "Run", exact: true });
    assert.equal(await run.isDisabled(), true);
    await body.evaluate((box) => (box.scrollTop = box.scrollHeight));
    await until("the end to be seen", () => run.isEnabled());
    await chat.shot("approval");
    await page.setViewportSize({ width: 1280, height: 420 });
    await until("the window to be low", async () => (await chat.frame.locator("body").evaluate(() => innerHeight)) < 420);
    await until("the input in view", () => chat.input.evaluate((input) => input.getBoundingClientRect().bottom < innerHeight));
    await chat.shot("approval-low");
    await page.setViewportSize({ width: 1280, height: 900 });
    await chat.frame.locator("#waiting").getByRole("button", { name: "Deny" }).click();
    await chat.idle();
  },

  /** Tables, boxes, code; nothing that the page's policy refuses. */
  async markdown({ chat, play, page }) {
    const refused = [];
    page.on("console", (message) => /content security policy/i.test(message.text()) && refused.push(message.text()));
    await play([says([
      "| function | number | what it does |\n|:--|--:|:-:|\n| `greet_everybody_in_this_town()` | 12 | greets |\n| `leave` | 3 | leaves |",
      "- [x] done\n  - below it\n- [ ] not done\n- plain", "See [greet](hello/hello.py#L4), `hello/hello.py:8` and https://example.com/page.",
      "```python\ndef greet(name):  # says hello\n    return f'Hello {name}', 12\n```", "> quoted\n\n1. one\n2. two",
    ].join("\n\n"))]);
    const answer = chat.row("answer");
    await answer.locator("table").waitFor();
    assert.equal(await answer.locator("td.align-right", { hasText: "12" }).evaluate((cell) => getComputedStyle(cell).textAlign), "right");
    const tall = await answer.locator("td code").first().evaluate((code) => code.getClientRects().length);
    assert.equal(tall, 1, "a word in a table is not broken");
    const heads = await answer.locator("th").evaluateAll((cells) => cells.map((cell) => cell.clientHeight));
    assert.ok(Math.max(...heads) < 40, `the heads take one line: ${heads}`);
    assert.deepEqual(await answer.locator("li.task input").evaluateAll((boxes) => boxes.map((box) => box.checked)), [true, false]);
    const [done, below] = await Promise.all([answer.locator("li.task input").first(), answer.getByText("below it")].map((one) => one.boundingBox()));
    assert.ok(below.y > done.y + done.height / 2, "what is below a task stands below it");
    const colors = await answer.locator(".c-keyword, .c-string, .c-comment").evaluateAll((spans) => new Set(spans.map((span) => getComputedStyle(span).color)).size);
    assert.ok(colors >= 3, `${colors} colors`);
    await chat.shot("markdown");
    for (const theme of ["Light Modern", "Light High Contrast"]) {
      await chat.theme(theme);
      await chat.shot(`markdown-${theme.toLowerCase().replaceAll(" ", "-")}`);
    }
    await chat.theme("Dark Modern");
    assert.deepEqual(refused, []);
  },

  /** Links lead to places in the open folder, and nowhere else. */
  async links({ chat, play, page }) {
    await play([says("[greet](hello/hello.py#L4) `hello.py:8` [out](../outside.txt) [link](inside.txt) [root](/etc/passwd) <https://example.com/x>")]);
    const link = (name) => chat.row("answer").locator("a", { hasText: name });
    await link("greet").click();
    await page.locator(".tabs-container .tab.active", { hasText: "hello.py" }).waitFor();
    await page.locator('.statusbar-item[id*="editor.selection"]', { hasText: "Ln 4" }).waitFor();
    await link("hello.py:8").click();
    await page.locator('.statusbar-item[id*="editor.selection"]', { hasText: "Ln 8" }).waitFor();
    for (const name of ["out", "link", "root"]) {
      await link(new RegExp(`^${name}$`)).click();
      await notification(page, "is not a file in the open folders").first().waitFor();
      await palette(page, "Notifications: Clear All Notifications");
    }
    assert.equal(await page.locator(".tabs-container .tab").count(), 1);
    await link("https://example.com/x").click();
    await page.locator(".monaco-dialog-box", { hasText: "https://example.com/x" }).waitFor();
    await page.keyboard.press("Escape");
  },

  /** Code is copied, inserted at the cursor, and applied where it belongs, after a diff was shown. */
  async code({ chat, play, page }) {
    await play([says("[open](hello/hello.py#L8)\n\n```python hello/hello.py\ndef greet(name):\n    return name.upper()\n```")]);
    await chat.row("answer").locator("a").click();
    await page.locator('.statusbar-item[id*="editor.selection"]', { hasText: "Ln 8" }).waitFor();
    const editor = page.locator(".editor-instance .monaco-editor").first();
    const code = chat.row("answer").locator(".code");
    await code.getByRole("button", { name: "Copy" }).click();
    await chat.frame.locator("#announce", { hasText: "Copied" }).waitFor();
    await code.getByRole("button", { name: "Insert at Cursor" }).click();
    await until("the code at the cursor", async () => (await visibleLines(editor)).includes("    return name.upper()LAST = 1"));
    await editor.locator(".view-line").first().click();
    await page.keyboard.press("Control+Z");
    await until("one undo to take it back", async () => (await visibleLines(editor)).includes("LAST = 1"));
    await page.keyboard.press("Control+S");
    await code.getByRole("button", { name: "Apply to File…" }).click();
    const ask = notification(page, "Apply this code to hello/hello.py?");
    await ask.waitFor();
    await until("the diff", async () => (await diffEditorLines(page)).modified.includes("    return name.upper()"));
    await screenshot(page, "transcript-apply");
    await ask.getByRole("button", { name: "Apply" }).click();
    await until("the code in its place", async () => {
      const lines = await visibleLines(editor);
      return lines.includes("    return name.upper()") && !lines.includes("    return name") && lines.includes("LAST = 1");
    });
    await page.keyboard.press("Control+S");
    assert.ok((await readFile(hello, "utf8")).includes("LAST = 1"));
    await palette(page, "View: Close All Editors");
  },

  /** What was found is there when a search is opened, and leads to its places. */
  async found({ chat, play, page }) {
    const lines = "hello/hello.py:4: def greet(name):\nhello/hello.py:8: LAST = 1\n… 3 more";
    await play([called("s", { title: 'Searching "e" - 5 matches', kind: "search", status: "completed", rawInput: { query: "e" }, content: text(`\`\`\`\n${lines}\n\`\`\``) })]);
    const row = chat.row("tool");
    await row.locator(".title", { hasText: 'Searched "e"' }).waitFor();
    await row.locator(".line > .icon").click();
    await chat.shot("found");
    await row.locator(".found a", { hasText: "hello/hello.py:8" }).click();
    await page.locator('.statusbar-item[id*="editor.selection"]', { hasText: "Ln 8" }).waitFor();
    await palette(page, "View: Close All Editors");
  },

  /** Formulas are drawn by the browser; one that is not understood is there as it is written. */
  async maths({ chat, play }) {
    const formulas = [
      "so $E = mc^2$ and $\\hat{y}_i \\in \\mathbb{R}$, but $\\unknown{x}$:",
      "$$\n\\sum_{i=1}^{n} i = \\frac{n(n+1)}{2}\n$$",
      "$$\nf(x) = \\begin{cases} \\sqrt{x} & \\text{if } x > 0 \\\\ \\int_0^1 t^2\\,dt & \\text{else} \\end{cases}\n$$",
      "\\[ A = \\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix} \\]",
    ];
    await play([says(formulas.join("\n\n"))]);
    const answer = chat.row("answer");
    await until("the formulas", async () => (await answer.locator(".math math").count()) === 5);
    assert.equal(await answer.locator(".math.source").textContent(), "\\unknown{x}");
    const [sum, fraction] = await Promise.all(["munderover", "mfrac"].map((tag) => answer.locator(tag).first().boundingBox()));
    assert.ok(sum.height > 20 && fraction.height > 20, "drawn, not written");
    await chat.shot("maths");
  },

  /** Code of a shell is typed into a terminal, and does not run: what it would make is not there. */
  async terminal({ chat, play, page }) {
    await play([says("```sh\ntouch made-by-enter\n```")]);
    const colors = await chat.row("answer").locator(".c-call", { hasText: "touch" }).count();
    assert.equal(colors, 1);
    await chat.row("answer").getByRole("button", { name: "Type into the Terminal" }).click();
    await page.locator(".terminal-wrapper .xterm-screen").first().waitFor(); // which has rows, or a canvas
    await screenshot(page, "transcript-terminal");
    const made = path.join(workspace, "made-by-enter");
    await assert.rejects(readFile(made), "nothing has run");
    await page.locator(".terminal-wrapper .xterm-helper-textarea").first().focus();
    await until("it to run at Enter", async () => {
      await page.keyboard.press("Enter");
      return readFile(made).then(() => true, () => false);
    });
    await palette(page, "View: Toggle Panel Visibility");
  },

  /** A diagram of an answer is code, and drawn by VS Code's own preview of Markdown. */
  async diagram({ chat, play, page }) {
    await play([says("```mermaid\ngraph TD\n  Lamp --> Light\n```")]);
    await chat.row("answer").getByRole("button", { name: "Show in the Markdown Preview" }).click();
    const drawn = webview(page, "vscode.markdown-language-features").locator("svg", { hasText: "Lamp" });
    await drawn.first().waitFor();
    await screenshot(page, "transcript-diagram");
    await palette(page, "View: Close All Editors");
  },

  /** At the side bar's first width nothing of the words below the input is cut. */
  async widths({ chat, play }) {
    await play([called("c", { title: "Running one two three four five six seven eight nine ten", kind: "execute", status: "completed" })]);
    const cut = await chat.frame.locator("#activity, .picker:not([hidden]) span, .group-head .title").evaluateAll((all) =>
      all.filter((one) => one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0).map((one) => one.textContent));
    assert.deepEqual(cut, []);
    const tall = await chat.frame.locator("button:not([hidden], .examples button, .call)").evaluateAll((all) =>
      all.filter((one) => one.clientHeight > 32 && one.querySelector(".codicon") === null).map((one) => one.textContent));
    assert.deepEqual(tall, []);
    await chat.shot("widths");
  },
};

class Page extends Chat {
  async shot(name) {
    await screenshot(this.page, `transcript-${name}`);
  }

  async theme(name) {
    await palette(this.page, "Preferences: Color Theme");
    await this.page.locator(".quick-input-widget input.input").fill(name);
    await this.page.locator(".quick-input-list .monaco-list-row.focused", { hasText: name }).waitFor();
    await this.page.keyboard.press("Enter");
    await this.page.locator(".quick-input-widget").waitFor({ state: "hidden" });
    await until(name, async () => (await this.frame.locator("body").getAttribute("data-vscode-theme-name")) === name);
  }
}

const started = performance.now();
const only = process.argv.slice(2);
let server;
let page;
try {
  const vsix = await packedExtension();
  const userData = await userDataFor(path.join(folder, "user-data"), fake);
  const settings = { "files.autoSave": "off", "workbench.colorTheme": "Dark Modern" };
  server = await startServer({ vsix, workspace, userData, settings, env: { FAKE_NORTH_ANSWER: "ok" } });
  page = await server.open({ width: 1280, height: 900 });
  await page.locator('.statusbar-item[id*="north.status"]').waitFor();
  await palette(page, "North: Show Chat");
  const chat = new Page(page);
  /** A step of what is played that waits until it is opened. */
  let gates = 0;
  const gate = () => {
    const file = path.join(folder, `gate-${(gates += 1)}`);
    return { step: { until: file }, open: () => writeFile(file, "") };
  };
  /** Sends updates as an answer to a prompt; `meanwhile` runs while they come. */
  const play = async (steps, meanwhile = async () => {}, deadline = 60_000) => {
    const file = path.join(folder, "play.json");
    await writeFile(file, JSON.stringify(steps));
    const before = await chat.row("user").count();
    await chat.send(`play ${file}`);
    await until("the prompt", async () => (await chat.row("user").count()) > before);
    await meanwhile();
    await until("the end of the turn", async () => !(await chat.frame.locator("#stop").isVisible()), deadline);
  };
  for (const [name, check] of Object.entries(cases)) {
    if (only.length > 0 && !only.includes(name)) continue;
    try {
      if ((await chat.rows.count()) > 0) await palette(page, "North: New Chat");
      await until("an empty chat", async () => (await chat.rows.count()) === 0);
      await check({ chat, play, page, gate });
      console.log(`${name}: ok (${((performance.now() - started) / 1000).toFixed(1)} s)`);
    } catch (error) {
      const picture = await screenshot(page, `transcript-${name}-failed`);
      console.error(`${name} FAILED: ${error.stack}\nscreenshot: ${picture}`);
      process.exitCode = 1;
    }
  }
} catch (error) {
  console.error(`${await server?.logs(/North/)}\nFAILED: ${error.stack}`);
  process.exitCode = 1;
} finally {
  await server?.stop();
  await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}
