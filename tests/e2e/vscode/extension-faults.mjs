/**
 * North's extension where something is wrong: no server, a server that is too old, an answer that means harm. Each case has
 * a VS Code of its own; with words of their names: only those.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";

import { chosen, fakeNorth, makeBed } from "./bed.mjs";
import { Chat } from "./chat.mjs";
import { dialog, openFile, reloadWindow } from "./controls.mjs";
import { notification, palette, screenshot, until, webview } from "./workbench.mjs";

const harm = [
  "**bold** <b id=raw>raw</b> <script>document.title = 'harmed'</script>",
  "![picture](https://example.com/picture.png) [a](javascript:alert(1)) [b](command:workbench.action.quit)",
  "[to example](https://example.com/some/page?with=query)",
].join("\n\n");

const cases = {
  async missing({ chat }) {
    await chat.frame.locator("#problem", { hasText: "does not point to a program: /nowhere/north-lsp" }).waitFor();
    const names = await chat.frame.locator("#problem button").allTextContents();
    assert.deepEqual(names, ["Open setting", "Show log", "Try again"]);
    await chat.send("hello");
    await until("the message to stay", async () => (await chat.input.inputValue()) === "hello");
  },

  /** What is sent while North starts waits in view, and is the user's again when the window ends before. */
  async silent({ chat, page }) {
    await chat.send("hello");
    await chat.frame.locator("#queue", { hasText: "hello" }).waitFor();
    await chat.input.fill("and more");
    await reloadWindow(page);
    await until("both to be back", async () => (await chat.input.inputValue()) === "hello\n\nand more");
    await chat.frame.locator("#queue").waitFor({ state: "hidden" });
  },

  /** What was sent in a tab that is closed, and could not go, is in the side bar's input. */
  async closing({ page, server }) {
    await palette(page, "North: New Chat in an Editor Tab");
    const tab = new Chat(page, webview(page, "north.north", "tab"));
    await tab.send("hello");
    await tab.frame.locator("#queue", { hasText: "hello" }).waitFor();
    await palette(page, "View: Close Editor");
    await writeFile(path.join(server.workspace, "fail"), "");
    const view = new Chat(page, webview(page, "north.north", "view"));
    await until("the message to be there", async () => (await view.input.inputValue()) === "hello");
  },

  async nopython({ chat, page }) {
    await chat.frame.locator("#problem", { hasText: "could not be started" }).waitFor();
    await chat.frame.locator("#problem", { hasText: "Python" }).waitFor();
    assert.equal(await notification(page, "North").count(), 0, "it is told once");
  },

  async old({ chat }) {
    await chat.frame.locator("#problem", { hasText: "(fake 0.0.7) cannot chat with this extension" }).waitFor();
  },

  async harm({ chat, page }) {
    const requests = [];
    page.on("request", (request) => requests.push(request.url()));
    await chat.send("hello");
    const answer = chat.row("answer");
    await answer.locator("strong", { hasText: "bold" }).waitFor();
    const link = answer.locator("a", { hasText: "to example" });
    await link.waitFor();
    assert.equal(await answer.locator("img, script, #raw, [href], [onclick], [style]").count(), 0);
    assert.equal(await answer.locator("[data-address]").count(), 2); // the picture's address, and the link
    await link.click();
    const asks = dialog(page).filter({ hasText: "https://example.com/some/page?with=query" });
    await asks.waitFor();
    await screenshot(page, "extension-link");
    await page.keyboard.press("Escape");
    await asks.waitFor({ state: "detached" });
    assert.deepEqual(requests.filter((address) => address.includes("example.com")), []);
  },

  /** A page opens once the user has said so twice: in the chat, where the address stands, and to VS Code. */
  async page({ chat, page }) {
    const url = "https://sign.example.com/in?redirect_uri=http%3A%2F%2F127.0.0.1%3A7&state=a%2Bb";
    await chat.send(`elicit ${JSON.stringify({ mode: "url", message: "Sign in to a server", elicitationId: "e", url })}`);
    const card = chat.frame.locator("#waiting");
    await card.locator("code", { hasText: url }).waitFor();
    await card.getByRole("button", { name: "Open in Browser" }).click();
    const asks = dialog(page).filter({ hasText: url }); // exactly as it was asked for
    await asks.waitFor();
    await screenshot(page, "extension-page-asks");
    await page.keyboard.press("Escape");
    await until("the answer", async () => (await chat.rows.allTextContents()).at(-1)?.includes('"action": "decline"'));
  },

  /** What an edit changed is written to the disk, unless the user had changed something, or says so. */
  async saving({ chat, page, server }) {
    const file = path.join(server.workspace, "a.txt");
    await writeFile(file, "one two\n");
    const say = async (text, answer) => {
      const before = await chat.row("answer").count();
      await chat.send(text);
      await until(answer, async () => (await chat.rows.allTextContents()).at(-1)?.includes(answer));
      assert.ok((await chat.row("answer").count()) >= before);
    };
    const editor = await openFile(page, "a.txt");
    await editor.locator(".view-line", { hasText: "one" }).waitFor();
    await say("save one first", '{"saved": 1, "reasons": []}');
    assert.equal(await readFile(file, "utf8"), "first two\n");
    await page.locator(".tabs-container .tab.dirty").waitFor({ state: "detached" });
    await say("save two stale", '{"saved": 0, "reasons": ["changed since"]}');
    assert.equal(await readFile(file, "utf8"), "first two\n");
    await page.locator(".tabs-container .tab.dirty").waitFor();
  },

  /** Whatever is asked is said in words, and only a command is called one. */
  async kinds({ chat, page }) {
    const options = [
      { optionId: "yes", name: "Yes", kind: "allow_once" },
      { optionId: "no", name: "No", kind: "reject_once" },
    ];
    const asks = async (kind, text, heading, toolCall = {}) => {
      const question = kind === undefined ? {} : { _meta: { north: { question: { kind, text } } } };
      const call = { toolCallId: "c", title: text, content: [{ type: "content", content: { type: "text", text: "Some words." } }], ...toolCall };
      await chat.send(`ask ${JSON.stringify({ toolCall: call, options, ...question })}`);
      await chat.frame.locator("#waiting .heading", { hasText: heading }).waitFor();
      await screenshot(page, `extension-kind-${kind ?? call.kind}`);
      await chat.frame.locator("#waiting").getByRole("button", { name: "Yes" }).click();
      await chat.frame.locator("#waiting").waitFor({ state: "hidden" });
      await until("the answer", async () => (await chat.rows.allTextContents()).at(-1)?.includes('"optionId": "yes"'));
    };
    await asks("edit", "Delete notes.txt (120 lines)?", /^North asks to change files: Delete notes\.txt \(120 lines\)\?$/);
    await asks("choice", "The limit of 5 USD is reached. Go on?", /^North asks: The limit of 5 USD is reached\. Go on\?$/);
    await asks("command", 'Run "npm test"?', /^North asks to run this command$/);
    await asks(undefined, "Delete b.bin", /^North asks to change files: Delete b\.bin$/, { kind: "delete" });
    await asks(undefined, "Go on?", /^North asks: Go on\?$/, { kind: "other" });
  },

  /** Whoever made the folder made its .venv and its settings, too. */
  async planted({ chat, page, server }) {
    await chat.frame.locator("#problem", { hasText: "which is not started unless you say so" }).waitFor();
    await palette(page, "North: Restart Server");
    await chat.frame.locator("#problem", { hasText: "which is not started unless you say so" }).waitFor();
    assert.ok(!existsSync(path.join(server.workspace, "started")));
  },
};

/** The program that a case is given instead of a server. */
async function program(bed, name) {
  if (name === "missing") return "/nowhere/north-lsp";
  if (name === "planted") return "";
  if (name === "silent" || name === "closing") {
    const slow = bed.path("slow-lsp");
    const waits = name === "silent" ? "while read -r line; do :; done" : "until [ -e fail ]; do sleep 0.1; done";
    await writeFile(slow, `#!/bin/sh\n${waits}\n`, { mode: 0o755 });
    return slow;
  }
  if (name !== "nopython") return fakeNorth;
  const orphan = bed.path("north-lsp"); // as pip leaves it when the Python of its environment is gone
  await writeFile(orphan, "#!/nowhere/bin/python3\nprint('hello')\n", { mode: 0o755 });
  return orphan;
}

/** A folder that brings along a server, and settings that name it. */
async function plant(workspace) {
  for (const place of [".venv/bin", ".vscode"]) await mkdir(path.join(workspace, place), { recursive: true });
  const planted = path.join(workspace, ".venv/bin/north-lsp");
  await writeFile(planted, `#!/bin/sh\ntouch ${path.join(workspace, "started")}\n`, { mode: 0o755 });
  const settings = { "north.server.path": planted, "north.server.source": "workspace" };
  await writeFile(path.join(workspace, ".vscode/settings.json"), JSON.stringify(settings));
}

/** Cases with the same server follow each other in one VS Code; the others have one each. */
const TOGETHER = ["harm", "page", "saving", "kinds"];
const groups = Object.values(Object.groupBy(chosen(cases), ([name]) => (TOGETHER.includes(name) ? "together" : name)));

for (const group of groups) {
  const bed = await makeBed("faults");
  const [[first]] = group;
  const workspace = bed.path("workspace");
  const env = TOGETHER.includes(first) ? { FAKE_NORTH_ANSWER: harm } : {};
  if (first === "planted") {
    await plant(workspace);
    env.PATH = "/usr/bin:/bin:.venv/bin";
  }
  const machine = { "north.server.path": await program(bed, first), "north.server.source": "path" };
  let opened;
  for (const [name, check] of group) {
    await bed.attempt(name, async () => {
      opened ??= await bed.start({ workspace, machine, env, ready: false });
      if ((await opened.chat.rows.count()) > 0) await palette(opened.page, "North: New Chat");
      await until("an empty chat", async () => (await opened.chat.rows.count()) === 0);
      await check(opened);
      await screenshot(opened.page, `extension-fault-${name}`);
    });
  }
  await bed.stop();
}
