/** North by keyboard alone, with the real server and the offline model. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";

import { THEMES, violations } from "./audit.mjs";
import { spread } from "./bed.mjs";
import { editorTab } from "./controls.mjs";
import { Keyboard } from "./keyboard.mjs";
import { auditedPage, holds, shot } from "./people.mjs";
import { palette, until, visibleLines } from "./workbench.mjs";

const before = spread("ITEM = 1", "ITEM = 2", "ITEM = 3");

/** What VS Code does with every row of every list: a level, a name of its own making, buttons inside. */
const OF_VSCODE = ["aria-allowed-attr", "label-content-name-mismatch", "nested-interactive"];

/** VS Code uses the rows of one list for the next one, and leaves the keys of commands in them, emptied. */
const isOldKey = ({ selector }) => document.querySelector(selector)?.matches(".monaco-keybinding:empty") === true;

/** The cases by keyboard alone, with the real server; `start` gives them their bed. */
export function byKeyboard() {
  let bed, chat, page, many, keyboard;

  async function start(given) {
    bed = given;
    bed.useOfflineModel();
    bed.env.NORTH_OFFLINE_DELAY_MS = "20";
    const workspace = await bed.sampleProject();
    many = path.join(workspace, "hello/many.py");
    await writeFile(many, before);
    ({ chat, page } = await bed.start({ workspace, settings: { "workbench.colorTheme": THEMES[0] }, size: { width: 1280, height: 900 } }));
    keyboard = new Keyboard(page, chat);
  }

  const inInput = (one) => one.id === "input";

  /** Types into the input, which has the focus, and sends. */
  async function says(words) {
    await until("the input to have the focus", async () => inInput(await keyboard.at()));
    await keyboard.type(words);
    await keyboard.press("Enter");
  }

  async function answered(words) {
    const rows = await chat.row("answer").count();
    await says(words);
    await until(`an answer to "${words}"`, async () => (await chat.row("answer").count()) > rows);
    await chat.idle();
  }

  const cases = {
    async "the first page of the real server"() {
      const nodes = await auditedPage({ chat, page }, "first-page-real");
      holds(nodes, "button", "What North may do: Agent", /^The model that answers: .*ffline/, /^What North asks about: /);
    },

    /** They are VS Code's own, with rows and buttons of North's. */
    async "the lists to choose from: each row and each button has a name"() {
      await answered("explain greet"); // so that there is a conversation
      for (const [command, title, row] of [["North: Show Conversations…", "North: Conversations", "explain greet"], ["North: Settings", "North: Settings", /./], ["North: Rules, Agents and Tools…", "North: Rules, Agents and Tools", /./]]) {
        await palette(page, command);
        const list = page.locator(".quick-input-widget");
        await list.locator(".quick-input-title", { hasText: title }).waitFor(); // the palette is a list, too
        await list.locator(".monaco-list-row", { hasText: row }).first().waitFor();
        const wrong = await violations(page.mainFrame(), { within: ".quick-input-widget", leaveOut: OF_VSCODE, isFine: isOldKey });
        assert.deepEqual(wrong, [], wrong.join("\n"));
        const names = await list.locator(".monaco-list-row").evaluateAll((rows) => rows.map((one) => one.getAttribute("aria-label") ?? ""));
        assert.ok(names.every((name) => name !== ""), `${command}: ${names}`);
        const buttons = await list.locator(".action-label").evaluateAll((all) => all.filter((one) => one.getClientRects().length > 0).map((one) => one.getAttribute("aria-label") ?? one.title));
        assert.ok(buttons.every((name) => name !== ""), `${command}: ${buttons}`);
        await shot(page, `list-${command.replaceAll(/\W+/g, "-").toLowerCase()}`);
        await page.keyboard.press("Escape");
        await list.waitFor({ state: "hidden" });
      }
    },

    async "by keyboard: open, ask, walk through the conversation, unfold a call, and back"() {
      await keyboard.command("North: Show Chat");
      await answered("explain greet");
      await keyboard.walkTo((one) => one.isRow, { back: true, most: 20 });
      await keyboard.press("Home");
      assert.match((await keyboard.at()).name, /^You: explain greet/);
      await until("a call", async () => {
        if (/^done: /.test((await keyboard.at()).name)) return true;
        await keyboard.press("ArrowDown");
        return false;
      });
      await shot(page, "keyboard-row");
      await keyboard.walkToNamed("Details: ", { most: 3 });
      await keyboard.press("Enter");
      await chat.row("tool").locator(".details").first().waitFor();
      await keyboard.press("Enter");
      await chat.row("tool").locator(".details").first().waitFor({ state: "hidden" });
      await keyboard.walkTo(inInput, { most: 8 });
    },

    async "by keyboard: nothing holds the focus, forwards and backwards"() {
      await answered("list files");
      for (const back of [false, true]) {
        await keyboard.command("North: Show Chat");
        await until("the input to have the focus", async () => inInput(await keyboard.at()));
        const trail = await keyboard.walkTo((one) => !one.inChat, { back, most: 20 });
        bed.log(`  out of the chat, ${back ? "backwards" : "forwards"}: ${trail.length} times Tab: ${trail.join(" → ")}`);
      }
      await keyboard.command("North: Show Chat");
    },

    async "what was used unfolds by keyboard"() {
      await keyboard.walkTo((one) => one.id === "usage", { most: 10 });
      await keyboard.press("Enter");
      await chat.frame.locator("#usage-rows dt").first().waitFor();
      const nodes = await auditedPage({ chat, page }, "usage");
      holds(nodes, "button", /^Context and cost: /);
      await keyboard.press("Escape");
      await chat.frame.locator("#usage-rows").waitFor({ state: "hidden" });
      await keyboard.walkTo(inInput, { back: true, most: 10 });
    },

    async "by keyboard: a command is approved, and its key decides nothing else"() {
      await says("run `echo approved-by-keyboard`");
      await chat.question("command").getByRole("button", { name: "Run", exact: true }).and(chat.frame.locator(":enabled")).waitFor();
      await keyboard.type("a draft");
      await keyboard.walkTo((one) => one.inQuestion && one.name === "Run", { back: true, most: 12 });
      await shot(page, "keyboard-approval");
      await keyboard.press("Enter");
      await chat.idle();
      await chat.row("answer").filter({ hasText: "approved-by-keyboard" }).first().waitFor();
      assert.ok(inInput(await keyboard.at()), JSON.stringify(await keyboard.at()));
      assert.equal(await chat.input.inputValue(), "a draft");
      await keyboard.press("Control+A", "Delete");
    },

    async "by keyboard: hunks are decided, characters of AltGr are only characters, and the turn is undone"() {
      await says('replace "ITEM" by "ENTRY" in hello/many.py');
      await chat.question("edit").getByRole("button", { name: "Accept", exact: true }).and(chat.frame.locator(":enabled")).waitFor();
      await keyboard.walkTo((one) => one.name === "Show changes", { back: true, most: 12 });
      await keyboard.press("Enter");
      await until("the diff to have the focus", async () => (await keyboard.at()).inDiff);
      const right = async () => (await page.locator(".editor.modified .view-line").allTextContents()).join("\n").replaceAll("\u00a0", " ");
      await until("the diff", async () => (await right()).includes("ENTRY = 1"));
      await keyboard.press("Control+Home", "End");
      await keyboard.altGr(["ń", "KeyN"], ["@", "KeyQ"], ["€", "KeyE"], ["{", "Digit7"]);
      await until("the characters", async () => (await right()).includes("ENTRY = 1ń@€{"));
      await keyboard.press("Backspace", "Backspace", "Backspace", "Backspace");
      await until("them to be gone", async () => !(await right()).includes("ń"));
      await chat.question("edit").waitFor(); // nothing was decided
      await keyboard.press("Control+k", "y");
      await keyboard.press("Control+k", "n");
      await until("the second to be taken out", async () => (await right()).includes("ITEM = 2"));
      await keyboard.press("Control+k", "y");
      await chat.idle();
      assert.equal(await readFile(many, "utf8"), spread("ENTRY = 1", "ITEM = 2", "ENTRY = 3"));
      await keyboard.command("North: Show Chat");
      await until("the input to have the focus", async () => inInput(await keyboard.at()));
      await keyboard.walkTo((one) => one.inRows && one.name === "Undo", { back: true, most: 12 });
      await keyboard.press("Enter");
      await until("the file of before", async () => (await readFile(many, "utf8")) === before);
      await chat.row("changes").getByRole("button", { name: "Redo" }).waitFor();
      const { inRows, name } = await keyboard.at();
      assert.ok(inRows, `the focus is at ${name}`);
      await shot(page, "keyboard-undone");
      await keyboard.walkTo(inInput, { most: 8 });
    },

    async "by keyboard: characters of AltGr in the input"() {
      await keyboard.command("North: Show Chat");
      await until("the input to have the focus", async () => inInput(await keyboard.at()));
      const polish = [["ą", "KeyA"], ["ć", "KeyC"], ["ę", "KeyE"], ["ł", "KeyL"], ["ń", "KeyN"], ["ó", "KeyO"], ["ś", "KeyS"], ["ź", "KeyX"], ["ż", "KeyZ"]];
      const german = [["@", "KeyQ"], ["€", "KeyE"], ["{", "Digit7"], ["[", "Digit8"], ["]", "Digit9"], ["}", "Digit0"], ["\\", "Minus"], ["~", "BracketRight"], ["|", "IntlBackslash"], ["µ", "KeyM"]];
      await keyboard.altGr(...polish, ...german);
      assert.equal(await chat.input.inputValue(), [...polish, ...german].map(([character]) => character).join(""));
      assert.ok(inInput(await keyboard.at()));
      await keyboard.press("Control+A", "Delete");
    },

    async "by keyboard: the conversation and the keys of the chat as texts"() {
      for (const [key, tab, words] of [["Alt+F2", "North: Conversation", "You chose: Accept (2 of 3 changes)"], ["Alt+F1", "North: Accessibility Help", "by keyboard and for screen readers"]]) {
        let tries = 0;
        await until(tab, async () => {
          // A key that comes before VS Code knows that the chat has the focus opens its own help.
          if (tries++ > 0) await keyboard.press("Escape");
          await keyboard.command("North: Show Chat");
          await until("the input to have the focus", async () => inInput(await keyboard.at()));
          await keyboard.press(key);
          return editorTab(page, tab).waitFor({ timeout: 5_000 }).then(() => true, () => false);
        });
        const editor = page.locator(".editor-group-container.active .monaco-editor").first();
        await until("its text", async () => (await visibleLines(editor)).join("\n").includes(words));
        await shot(page, `text-${key}`);
        await keyboard.command("View: Close Editor");
        await editorTab(page, tab).waitFor({ state: "detached" });
      }
    },
  };

  return { start, cases };
}
