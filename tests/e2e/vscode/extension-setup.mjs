/**
 * North's extension on its first day: its own server is installed, folders are trusted or not, there is no folder or
 * several, a key is stored, a model is chosen. Each case has a VS Code of its own, unless it joins the one before it; with
 * names: only those cases.
 *
 * `NORTH_E2E_SERVER` names another north-lsp than the checkout's own, for the cases that install none.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { Chat } from "./chat.mjs";
import { checkout, machineSettings, packedExtension, guard } from "./packed.mjs";
import { notification, palette, screenshot, startServer, until } from "./workbench.mjs";

const north = process.env.NORTH_E2E_SERVER ?? path.join(checkout, ".venv/bin/north-lsp");
const named = { "north.server.path": north };

/** A program that says it is a Python of that version, and does as told when it is to make an environment. */
async function fakePython(folder, version, venv = "exit 1") {
  const file = path.join(folder, "python3");
  const said = JSON.stringify({ version, venv: true });
  await writeFile(file, `#!/bin/sh\ncase "$*" in *" -m venv "*) ${venv} ;; *) echo '${said}' ;; esac\n`, { mode: 0o755 });
  return file;
}

/** Settings, environment and files of a case, made in its folder, and what is checked. */
const cases = {
  /** Nothing but the vsix: the first question is answered by a server that the extension has installed. */
  install: {
    install: true,
    env: { NORTH_MODEL: "offline" },
    async check({ chat, page, server }) {
      await notification(page, "Installing North's server").waitFor();
      await screenshot(page, "setup-installing");
      await chat.frame.locator("#welcome .setup li").first().waitFor({ timeout: 300_000 });
      await chat.frame.locator("#problem").waitFor({ state: "hidden" });
      await chat.frame.locator("#welcome", { hasText: "the offline model answers" }).waitFor();
      await screenshot(page, "setup-first-page");
      const examples = await chat.frame.locator("#welcome .examples button").allTextContents();
      assert.equal(examples.length, 3);
      await chat.frame.locator("#welcome .examples button", { hasText: "list files" }).click();
      await until("the example in the input", async () => (await chat.input.inputValue()) === "list files");
      await chat.input.press("Enter");
      await chat.row("answer").filter({ hasText: "notes.txt" }).waitFor();
      await chat.frame.locator("#welcome").waitFor({ state: "hidden" });
      await palette(page, "North: Restart Server");
      await until("the server to be started again", async () => count(await server.logs(/North/), "Connected to") === 2);
      const log = await server.logs(/North/);
      assert.equal(count(log, "Installing /"), 1, log);
      assert.match(log, /Starting .*globalStorage\/north\.north\/server\/[^ ]*\/bin\/north-lsp lsp/);
      await palette(page, "North: Install the Server…");
      await notification(page, "is installed.").getByRole("button", { name: "Install Again" }).waitFor();
    },
  },

  /** The installation is given up at a click, and so is what it runs. */
  cancel: {
    async prepare({ folder }) {
      const python = await fakePython(folder, [3, 12, 0], `echo $$ > ${folder}/pid; exec sleep 600`);
      return { machine: { "north.server.python": python } };
    },
    async check({ chat, page, folder }) {
      const running = notification(page, "Installing North's server");
      await running.waitFor();
      const pid = await until("the environment to be made", () => readFile(path.join(folder, "pid"), "utf8").catch(() => ""));
      await running.hover();
      await running.getByRole("button", { name: "Cancel" }).click();
      await chat.frame.locator("#problem.calm", { hasText: "you cancelled it" }).waitFor();
      await until("the process to end", async () => /^$|\) Z /.test(await readFile(`/proc/${pid.trim()}/stat`, "utf8").catch(() => "")));
      await screenshot(page, "setup-cancelled");
      await rm(path.join(folder, "pid"));
      await chat.frame.locator("#problem").getByRole("button", { name: "Install", exact: true }).click();
      await until("it to begin again", () => existsSync(path.join(folder, "pid")));
    },
  },

  /** A Python that is too old: it is said, and the button leads to the setting, in a remote window too. */
  old: {
    async prepare({ folder }) {
      return { machine: { "north.server.python": await fakePython(folder, [3, 8, 1]) } };
    },
    async check({ chat, page, folder }) {
      const problem = chat.frame.locator("#problem", { hasText: `needs Python 3.11 or newer; ${folder}/python3 is 3.8.1` });
      await problem.waitFor();
      await screenshot(page, "setup-old-python");
      await problem.getByRole("button", { name: "Choose Python" }).click();
      const setting = page.locator(".settings-editor .setting-item-contents", { hasText: "Python" });
      await setting.first().waitFor();
      await page.locator(".settings-count-widget", { hasText: "1 Setting Found" }).waitFor();
      await screenshot(page, "setup-setting");
    },
  },

  /** An index that cannot be reached. */
  index: {
    env: { PIP_CONFIG_FILE: "/dev/null", PIP_INDEX_URL: "http://127.0.0.1:1/simple", PIP_FIND_LINKS: "", PIP_EXTRA_INDEX_URL: "", PIP_RETRIES: "1" },
    async check({ chat, page }) {
      await chat.frame.locator("#problem", { hasText: "the package index cannot be reached" }).waitFor();
      await screenshot(page, "setup-no-index");
    },
  },

  /** Before trust nothing of the folder is run or read; after it North goes on by itself, and its server knows. */
  untrusted: {
    trust: true,
    machine: named,
    async check({ chat, page, server }) {
      await chat.frame.locator("#problem.calm", { hasText: "This folder is not trusted yet" }).waitFor();
      await screenshot(page, "setup-untrusted");
      await chat.input.fill("list files");
      await chat.input.press("Enter");
      await until("the message to stay", async () => (await chat.input.inputValue()) === "list files");
      assert.equal(count(await server.logs(/North/), "Starting "), 0);
      await chat.frame.locator("#problem").getByRole("button", { name: "Manage Workspace Trust" }).click();
      const trust = page.locator(".workspace-trust-editor").getByRole("button", { name: "Trust", exact: true });
      await trust.waitFor();
      await screenshot(page, "setup-trust-editor");
      await trust.click();
      await chat.frame.locator("#problem").waitFor({ state: "hidden" });
      await chat.frame.locator("#welcome", { hasText: "You trust this folder." }).waitFor();
      await chat.send("/trust");
      await chat.rows.filter({ hasText: /trusted/ }).last().waitFor();
      const said = (await chat.rows.allTextContents()).at(-1);
      assert.doesNotMatch(said, /Nobody/);
      assert.equal(count(await server.logs(/North/), "Starting "), 1, "one server, once");
      await page.keyboard.press("Escape");
      await screenshot(page, "setup-trusted");
    },
  },

  /** Without a folder there is something to click. */
  nofolder: {
    open: "nothing",
    machine: named,
    async check({ chat, page }) {
      await chat.frame.locator("#problem.calm", { hasText: "Open a folder" }).waitFor();
      await screenshot(page, "setup-no-folder");
      await chat.frame.locator("#problem").getByRole("button", { name: "Open Folder" }).click();
      await page.locator(".quick-input-widget input.input").waitFor();
      await page.keyboard.press("Escape");
    },
  },

  /** All folders of a workspace belong to the conversation, one that is added later as well. */
  several: {
    machine: named,
    async prepare({ folder, workspace }) {
      for (const [name, word] of [["second", "quokka"], ["third", "wombat"]]) {
        await mkdir(path.join(folder, name));
        await writeFile(path.join(folder, name, `${name}.txt`), `a ${word}\n`);
      }
      const file = path.join(folder, "both.code-workspace");
      await writeFile(file, JSON.stringify({ folders: [{ path: workspace }, { path: path.join(folder, "second") }] }));
      return { open: file };
    },
    async check({ chat, page, folder }) {
      await chat.frame.locator("#welcome .setup li").first().waitFor();
      await chat.send("find quokka");
      await chat.row("answer").filter({ hasText: "second.txt" }).waitFor();
      await chat.idle();
      await screenshot(page, "setup-several");
      const file = path.join(folder, "both.code-workspace");
      const { folders } = JSON.parse(await readFile(file, "utf8"));
      const more = JSON.stringify({ folders: [...folders, { path: path.join(folder, "third") }] });
      await chat.rows.filter({ hasText: "find quokka" }).first().waitFor();
      await until("the third folder to be found", async () => {
        await writeFile(file, more); // VS Code may not watch it yet when it is written for the first time
        await chat.ask("find wombat");
        return (await chat.row("answer").allTextContents()).some((text) => text.includes("third.txt"));
      });
    },
  },

  /** A provider of the user's own, to which one signs in on a page: its whole address is shown, and nothing opens by itself. */
  signIn: {
    machine: named,
    async prepare({ folder }) {
      const oauth = { authorizeUrl: "https://a.example/authorize", tokenUrl: "https://a.example/token", clientId: "north" };
      const company = { baseUrl: "https://a.example", api: "anthropic-messages", auth: "oauth", oauth, models: [{ id: "m-1" }] };
      await mkdir(path.join(folder, "home/.config/north"), { recursive: true });
      await writeFile(path.join(folder, "home/.config/north/models.json"), JSON.stringify({ providers: { company } }));
    },
    async check({ chat, page }) {
      await chat.frame.locator("#welcome").getByRole("button", { name: "Add an API Key" }).click();
      await page.locator(".quick-input-widget input.input").fill("company");
      await page.locator(".quick-input-list .monaco-list-row", { hasText: "signs you in, in a browser" }).click();
      const card = chat.frame.locator("#waiting", { hasText: "Sign in to company" });
      await card.filter({ hasText: /https:\/\/a\.example\/authorize\?.*redirect_uri=http%3A%2F%2F127\.0\.0\.1/ }).waitFor();
      await screenshot(page, "setup-sign-in");
      await card.getByRole("button", { name: "Not Now" }).click();
      await chat.rows.filter({ hasText: "the page to sign in was not opened" }).last().waitFor();
    },
  },

  /** A new key is followed by the question which model answers, and the first page says who does. */
  key: {
    machine: named,
    env: { OPENAI_BASE_URL: "http://127.0.0.1:1/v1" },
    async check({ chat, page }) {
      const input = page.locator(".quick-input-widget input.input");
      await chat.frame.locator("#welcome").getByRole("button", { name: "Add an API Key" }).click();
      await input.fill("OpenAI");
      await page.locator(".quick-input-list .monaco-list-row", { hasText: "OpenAI" }).first().click();
      await page.locator('.quick-input-widget input[type="password"]').fill("sk-not-a-key");
      await page.keyboard.press("Enter");
      await page.locator(".monaco-dialog-box").getByRole("button", { name: "Store It Anyway" }).click();
      await notification(page, "North has stored the key").getByRole("button", { name: "Choose a Model" }).click();
      await page.locator(".quick-input-widget", { hasText: "Switch Model" }).waitFor();
      await screenshot(page, "setup-choose-model");
      const name = "GPT-5.1 Codex mini";
      await input.fill(name);
      await page.locator(".quick-input-list .monaco-list-row.focused", { hasText: name }).waitFor();
      await page.keyboard.press("Enter");
      await chat.frame.locator("#welcome", { hasText: `${name} answers.` }).waitFor();
      await screenshot(page, "setup-key-stored");
      const examples = await chat.frame.locator("#welcome .examples button").allTextContents();
      assert.match(examples[0], /What does this project do/);
    },
  },

  /** The walkthrough has all steps, and its buttons work. */
  walkthrough: {
    machine: named,
    joins: true,
    async check({ chat, page }) {
      await chat.frame.locator("#welcome").getByRole("button", { name: "First steps" }).click();
      const steps = page.locator(".gettingStartedContainer .step-title");
      await until("five steps", async () => (await steps.count()) === 5);
      assert.deepEqual(await steps.allTextContents(), [
        "Install the server",
        "Add an API key",
        "Choose a model",
        "Trust your folder",
        "Ask your first question",
      ]);
      await screenshot(page, "setup-walkthrough");
    },
  },

  /** The settings file is made, completed by its keys, and may have comments. */
  settings: {
    machine: named,
    joins: true,
    async check({ chat, page, folder }) {
      await chat.frame.locator("#welcome .setup li").first().waitFor(); // it has taken the focus, which closes the palette
      await palette(page, "North: Open Settings File");
      await page.locator(".tabs-container .tab.active", { hasText: "config.json" }).waitFor();
      assert.ok(existsSync(path.join(folder, "home/.config/north/config.json")));
      await page.locator('.statusbar-item[id="status.editor.mode"]', { hasText: "JSON with Comments" }).waitFor();
      await page.keyboard.press("Control+End");
      for (const key of ["ArrowUp", "ArrowUp", "End"]) await page.keyboard.press(key);
      await page.keyboard.type("// mine\n");
      const suggestions = page.locator(".suggest-widget .monaco-list-row");
      await until("the settings to be suggested", async () => {
        await page.keyboard.press("Control+Space");
        return suggestions.filter({ hasText: "auth.storage" }).first().waitFor({ timeout: 2_000 }).then(() => true, () => false);
      });
      await screenshot(page, "setup-settings-file");
    },
  },

  /** The extension's page has its icon, and no picture that cannot be loaded. */
  page: {
    machine: named,
    joins: true,
    async check({ page }) {
      const listed = page.locator(".extensions-list .extension-list-item", { hasText: "North" }).first();
      await until("North among the extensions", async () => {
        // The chat, which opens by itself, may take the side bar back.
        await page.locator('.activitybar .action-item:has(.action-label[aria-label^="Extensions"])').click();
        return listed.click({ timeout: 5_000 }).then(() => true, () => false);
      });
      const readme = page.frameLocator("iframe.webview.ready:not([src*='north.north'])").frameLocator("iframe#active-frame");
      await readme.getByRole("heading", { name: "North for VS Code" }).waitFor();
      // Where the clone has a public remote, they come from there.
      const missing = await readme
        .locator("img")
        .evaluateAll((found) => found.filter((one) => one.naturalWidth === 0 && !one.src.startsWith("https:")).map((one) => one.src));
      assert.deepEqual(missing, []);
      await page.locator(".extension-editor .icon-container img, .extension-editor img.icon").first().waitFor();
      await screenshot(page, "setup-extension-page");
    },
  },
};

function count(text, part) {
  return text.split(part).length - 1;
}

const vsix = await packedExtension();

/** A VS Code with what a case is given: `{ chat, page, server, folder }`, and `close`, which checks what holds of all. */
async function open({ check, prepare, joins, ...given }) {
  const folder = await mkdtemp(path.join(tmpdir(), "north-e2e-setup-"));
  const workspace = path.join(folder, "workspace");
  const home = path.join(folder, "home");
  for (const place of [workspace, home]) await mkdir(place);
  await writeFile(path.join(workspace, "notes.txt"), "one\n");
  // What a hostile folder would bring along.
  await mkdir(path.join(workspace, ".venv/bin"), { recursive: true });
  const planted = path.join(folder, "planted");
  for (const program of ["north-lsp", "python3", "uv"]) {
    await writeFile(path.join(workspace, ".venv/bin", program), `#!/bin/sh\ntouch ${planted}\n`, { mode: 0o755 });
  }
  const made = { ...given, ...(await prepare?.({ folder, workspace })) };
  const rules = made.env?.NORTH_MODEL ? guard(folder) : undefined; // where a model is asked
  const env = {
    PATH: `${path.join(workspace, ".venv/bin")}:${process.env.PATH}`,
    HOME: home,
    XDG_CONFIG_HOME: path.join(home, ".config"),
    NORTH_CONFIG_DIR: "",
    NORTH_DATA_DIR: path.join(folder, "data"),
    NORTH_STATE_DIR: path.join(folder, "state"),
    NORTH_DISCOVERY: "off",
    ...(rules ? { ...rules.env } : {}),
    ...made.env,
  };
  const userData = await machineSettings(path.join(folder, "user-data"), made.machine ?? {});
  const remove = () => rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  const server = await startServer({ ...made, vsix, workspace, userData, settings: { "files.autoSave": "off" }, env }).catch(async (error) => {
    await remove();
    throw error;
  });
  return {
    server,
    folder,
    async checkAll() {
      if (rules) await rules.check();
      assert.ok(!existsSync(planted), "something of the folder was run");
    },
    async close() {
      await server.stop();
      await remove();
    },
  };
}

const only = process.argv.slice(2);
let now;
for (const [name, made] of Object.entries(cases)) {
  if (only.length > 0 && !only.includes(name)) continue;
  const started = performance.now();
  if (!made.joins) now = void (await now?.close());
  try {
    now ??= await open(made);
    if (now.page === undefined) {
      now.page = await now.server.open();
      await now.page.locator('.statusbar-item[id*="north.status"]').waitFor();
    } else await palette(now.page, "View: Close All Editors");
    await palette(now.page, "North: Show Chat");
    await made.check({ ...now, chat: new Chat(now.page) });
    await now.checkAll();
    console.log(`${name}: ok (${((performance.now() - started) / 1000).toFixed(1)} s)`);
  } catch (error) {
    const picture = now?.page && (await screenshot(now.page, `setup-${name}-failed`));
    console.error(`${await now?.server.logs(/North/)}\n${name} FAILED: ${error.stack}\nscreenshot: ${picture}`);
    process.exitCode = 1;
  }
}
await now?.close();
