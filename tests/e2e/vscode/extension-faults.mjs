/** North's extension where something is wrong: no server, a server that is too old, an answer that means harm. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { machineSettings, packedExtension } from "./packed.mjs";
import { palette, screenshot, startServer, until, webview } from "./workbench.mjs";

const fake = fileURLToPath(new URL("fake-north-lsp", import.meta.url));

const harm = [
  "**bold** <b id=raw>raw</b> <script>document.title = 'harmed'</script>",
  "![picture](https://example.com/picture.png) [a](javascript:alert(1)) [b](command:workbench.action.quit)",
  "[to example](https://example.com/some/page?with=query)",
].join("\n\n");

const cases = {
  async missing({ chat }) {
    await chat.locator("#problem", { hasText: "names no program: /nowhere/north-lsp" }).waitFor();
    const names = await chat.locator("#problem button").allTextContents();
    assert.deepEqual(names, ["Open setting", "Show log", "Try again"]);
    await chat.locator("#input").fill("hello");
    await chat.locator("#input").press("Enter");
    await until("the message to stay", async () => (await chat.locator("#input").inputValue()) === "hello");
  },

  async nopython({ chat }) {
    await chat.locator("#problem", { hasText: "could not be started" }).waitFor();
    await chat.locator("#problem", { hasText: "Python" }).waitFor();
  },

  async old({ chat }) {
    await chat.locator("#problem", { hasText: "(fake 0.0.7) cannot chat with this extension" }).waitFor();
  },

  async harm({ chat, page, requests }) {
    await chat.locator("#input").fill("hello");
    await chat.locator("#input").press("Enter");
    const answer = chat.locator(".row.answer");
    await answer.locator("strong", { hasText: "bold" }).waitFor();
    const link = answer.locator("a", { hasText: "to example" });
    await link.waitFor();
    assert.equal(await answer.locator("img, script, #raw, [href], [onclick], [style]").count(), 0);
    assert.equal(await answer.locator("[data-address]").count(), 2); // the picture's address, and the link
    await link.click();
    const dialog = page.locator(".monaco-dialog-box", { hasText: "https://example.com/some/page?with=query" });
    await dialog.waitFor();
    await screenshot(page, "extension-link");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    assert.deepEqual(requests.filter((address) => address.includes("example.com")), []);
  },

  /** What an edit changed is written to the disk, unless the user had changed something, or says so. */
  async saving({ chat, page, server }) {
    const file = path.join(server.workspace, "a.txt");
    await writeFile(file, "one two\n");
    const editor = page.locator(".editor-instance .monaco-editor").first();
    const say = async (text, answer) => {
      const before = await chat.locator(".row.answer").count();
      await chat.locator("#input").fill(text);
      await chat.locator("#input").press("Enter");
      await until(answer, async () => (await chat.locator(".row").allTextContents()).at(-1)?.includes(answer));
      assert.ok((await chat.locator(".row.answer").count()) >= before);
    };
    const row = page.locator(".quick-input-list .monaco-list-row.focused", { hasText: "a.txt" });
    await until("the file to be found", async () => {
      await palette(page, "Go to File..."); // its list is made when it opens
      const typed = page.locator(".quick-input-widget input.input").fill(file, { timeout: 3_000 });
      if (!(await typed.then(() => true, () => false))) return false; // it had closed by itself
      const found = await row.waitFor({ timeout: 3_000 }).then(() => true, () => false);
      await page.keyboard.press(found ? "Enter" : "Escape");
      return found;
    });
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
      await chat.locator("#input").fill(`ask ${JSON.stringify({ toolCall: call, options, ...question })}`);
      await chat.locator("#input").press("Enter");
      await chat.locator("#waiting .heading", { hasText: heading }).waitFor();
      await screenshot(page, `extension-kind-${kind ?? call.kind}`);
      await chat.locator("#waiting").getByRole("button", { name: "Yes" }).click();
      await chat.locator("#waiting").waitFor({ state: "hidden" });
      await until("the answer", async () => (await chat.locator(".row").allTextContents()).at(-1)?.includes('"optionId": "yes"'));
    };
    await asks("edit", "Delete notes.txt (120 lines)?", /^North asks to change files: Delete notes\.txt \(120 lines\)\?$/);
    await asks("choice", "The limit of 5 USD is reached. Go on?", /^North asks: The limit of 5 USD is reached\. Go on\?$/);
    await asks("command", 'Run "npm test"?', /^North asks to run this command$/);
    await asks(undefined, "Delete b.bin", /^North asks to change files: Delete b\.bin$/, { kind: "delete" });
    await asks(undefined, "Go on?", /^North asks: Go on\?$/, { kind: "other" });
  },

  /** Whoever made the folder made its .venv and its settings, too. */
  async planted({ chat, page, server }) {
    await chat.locator("#problem", { hasText: "which is not started unless you say so" }).waitFor();
    await palette(page, "North: Restart Server");
    await chat.locator("#problem", { hasText: "which is not started unless you say so" }).waitFor();
    assert.ok(!existsSync(path.join(server.workspace, "started")));
  },
};

/** As pip leaves it when the Python of its environment is gone. */
const orphan = path.join(await mkdtemp(path.join(tmpdir(), "north-e2e-orphan-")), "north-lsp");
await writeFile(orphan, "#!/nowhere/bin/python3\nprint('hello')\n", { mode: 0o755 });
const programs = { missing: "/nowhere/north-lsp", nopython: orphan, planted: "" };

const vsix = await packedExtension();
const only = process.argv.slice(2);
for (const [name, check] of Object.entries(cases)) {
  if (only.length > 0 && !only.includes(name)) continue;
  const folder = await mkdtemp(path.join(tmpdir(), "north-e2e-faults-"));
  const env = ["harm", "saving", "kinds"].includes(name) ? { FAKE_NORTH_ANSWER: harm } : {};
  const machine = { "north.server.path": programs[name] ?? fake, "north.server.source": "path" };
  const userData = await machineSettings(path.join(folder, "user-data"), machine);
  const workspace = path.join(folder, "workspace");
  await mkdir(workspace);
  if (name === "planted") {
    for (const place of [".venv/bin", ".vscode"]) await mkdir(path.join(workspace, place), { recursive: true });
    const program = path.join(workspace, ".venv/bin/north-lsp");
    await writeFile(program, `#!/bin/sh\ntouch ${path.join(workspace, "started")}\n`, { mode: 0o755 });
    await writeFile(path.join(workspace, ".vscode/settings.json"), JSON.stringify({ "north.server.path": program, "north.server.source": "workspace" }));
    env.PATH = "/usr/bin:/bin:.venv/bin";
  }
  let server;
  let page;
  try {
    server = await startServer({ vsix, workspace, userData, settings: { "files.autoSave": "off" }, env });
    page = await server.open();
    const requests = [];
    page.on("request", (request) => requests.push(request.url()));
    await page.locator('.statusbar-item[id*="north.status"]').waitFor();
    await palette(page, "North: Show Chat");
    await check({ chat: webview(page, "north.north"), page, requests, server });
    await screenshot(page, `extension-fault-${name}`);
    console.log(`${name}: ok`);
  } catch (error) {
    const picture = page && (await screenshot(page, `extension-fault-${name}-failed`));
    console.error(`${await server?.logs(/North/)}\n${name} FAILED: ${error.stack}\nscreenshot: ${picture}`);
    process.exitCode = 1;
  } finally {
    await server?.stop();
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}
await rm(path.dirname(orphan), { recursive: true });
