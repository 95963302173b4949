/**
 * Where North can be reached in VS Code beside its own view: menus, light bulb, the cursor, Source Control, terminals,
 * language servers, tools of VS Code's own chat. Packed, with the real server and a scripted model, whose requests are held
 * to the vendor's rules. With words of the names of its cases: only those.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { Chat } from "./chat.mjs";
import { checkout, packedExtension, userDataFor } from "./packed.mjs";
import { scriptedModel } from "./scripted-model.mjs";
import { notification, palette, screenshot, startServer, until } from "./workbench.mjs";

const north = process.env.NORTH_E2E_SERVER ?? path.join(checkout, ".venv/bin/north-lsp");
const probe = fileURLToPath(new URL("probe", import.meta.url));
const started = performance.now();
const log = (what) => console.log(`${what} (${((performance.now() - started) / 1000).toFixed(1)} s)`);

const folder = await mkdtemp(path.join(tmpdir(), "north-e2e-places-"));
const project = path.join(folder, "project");
for (const name of ["project/src", "config", "data", "state", "home"]) await mkdir(path.join(folder, name), { recursive: true });
const file = (name) => path.join(project, name);
const files = {
  "lamp.ts": "export function lamp(watts: number): string {\n  return `lamp of ${watts} W`;\n}\n",
  "use.ts": 'import { lamp } from "./lamp";\n\nconst text: number = lamp(40);\nconsole.log(text);\n',
  "tsconfig.json": '{"compilerOptions": {"strict": true, "module": "esnext", "lib": ["es2022", "dom"]}, "files": ["lamp.ts", "use.ts"]}\n',
  "src/notes.txt": "one\n",
  "secret.txt": "the key\n",
  ".northignore": "secret.txt\n",
};
for (const [name, text] of Object.entries(files)) await writeFile(file(name), text);
const git = (...args) => execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.org", ...args], { cwd: project });
git("init", "-q");
git("add", ".");
git("commit", "-qm", "first");
await writeFile(path.join(folder, "config/config.json"), JSON.stringify({ "shell.useClientTerminal": true }));

const model = await scriptedModel(folder);
const env = {
  ...model.env,
  HOME: path.join(folder, "home"),
  NORTH_CONFIG_DIR: path.join(folder, "config"),
  NORTH_DATA_DIR: path.join(folder, "data"),
  NORTH_STATE_DIR: path.join(folder, "state"),
};

let server;
let page;

const menuEntry = (name) => page.locator(".monaco-menu .action-label, .context-view .action-label", { hasText: name }).first();

/** What the model was sent for what `act` does. */
async function asked(chat, act) {
  const before = model.requests.length;
  await act();
  await until("the model to be asked", () => model.requests.length > before);
  await chat.idle();
  return JSON.stringify(model.requests[before].messages.at(-1).content);
}

async function openFile(name) {
  // A click: the chat's input may still be taking the focus.
  const row = page.locator(".quick-input-list .monaco-list-row", { hasText: name }).first();
  await until(`${name} among the files`, async () => {
    await page.keyboard.press("Control+p");
    const input = page.locator(".quick-input-widget input.input");
    if (!(await input.fill(name, { timeout: 3_000 }).then(() => true, () => false))) return false;
    return row.click({ timeout: 3_000 }).then(() => true, () => false);
  });
  await page.locator(".tab.active", { hasText: name }).waitFor();
  const editor = page.locator(".editor-group-container.active .monaco-editor").first();
  await editor.locator(".view-line").first().waitFor();
  return editor;
}

/** What the light bulb at the cursor offers, asked again until it is there: servers take their time. */
async function lightBulb(name) {
  const entry = page.locator(".action-widget .monaco-list-row", { hasText: name }).first();
  await until(`${name} in the light bulb`, async () => {
    await page.keyboard.press("Control+.");
    if (await entry.waitFor({ timeout: 5_000 }).then(() => true, () => false)) return true;
    // Where no list is open, Escape would take the selection away.
    if (await page.locator(".action-widget").isVisible()) await page.keyboard.press("Escape");
    return false;
  });
  return entry;
}

/** Looks at the edit that waits, and accepts it. */
async function accept(chat, picture) {
  await chat.question("edit").getByRole("button", { name: "Show changes" }).click();
  await page.locator(".tabs-container .tab", { hasText: "North's proposal" }).first().waitFor();
  await screenshot(page, picture);
  await chat.question("edit").getByRole("button", { name: "Accept", exact: true }).click();
}

const squiggle = () => page.locator(".monaco-editor .squiggly-error").first();

const cases = {
  async "the light bulb has a problem fixed"(chat) {
    const editor = await openFile("use.ts");
    await squiggle().waitFor();
    await editor.locator(".view-line", { hasText: "const text" }).locator("span span", { hasText: "text" }).first().click();
    const entry = await lightBulb("North: Fix");
    await screenshot(page, "places-1-light-bulb");
    model.answers.push("It is a string.");
    const sent = await asked(chat, () => entry.click());
    assert.match(sent, /Fix this problem in use\.ts/);
    assert.match(sent, /line 3, column 7: error: Type 'string' is not assignable to type 'number'\. \(ts 2322\)/);
    assert.match(sent, /path=\\"use\.ts\\"/);
    assert.match(sent, /import \{ lamp \} from/);
    await chat.row("answer").getByText("It is a string.").waitFor();
    await screenshot(page, "places-2-fix");
  },

  async "what is selected is explained, and an unselected line has no light bulb of North's"(chat) {
    const editor = await openFile("lamp.ts");
    await editor.locator(".view-line", { hasText: "return" }).click();
    await page.keyboard.press("Control+Home");
    await page.keyboard.press("Shift+ArrowDown");
    const entry = await lightBulb("North: Explain");
    for (const name of ["North: Write Tests", "North: Document"]) await page.locator(".action-widget .monaco-list-row", { hasText: name }).waitFor();
    const sent = await asked(chat, () => entry.click());
    assert.match(sent, /Explain this code/);
    assert.match(sent, /lines=\\"1-1\\"/, sent);
  },

  async "the explorer and the editor have entries of North's"(chat) {
    await page.keyboard.press("Control+Shift+e");
    const row = page.locator(".explorer-folders-view .monaco-list-row", { hasText: "lamp.ts" });
    await row.click({ button: "right" });
    await menuEntry("North: Ask About File or Folder").waitFor();
    await screenshot(page, "places-3-explorer");
    await menuEntry("North: Ask About File or Folder").click();
    await chat.frame.locator(".chip:not(.suggested)", { hasText: "lamp.ts" }).waitFor();
    const editor = await openFile("use.ts");
    await editor.locator(".view-line", { hasText: "console" }).click();
    await page.keyboard.press("Home");
    await page.keyboard.press("Shift+End");
    await editor.locator(".view-line", { hasText: "console" }).click({ button: "right" });
    for (const name of ["North: Ask About Selection", "North: Edit Here", "North"]) await menuEntry(name).waitFor();
    await screenshot(page, "places-4-editor");
    await menuEntry("North: Ask About Selection").click();
    await chat.frame.locator(".chip:not(.suggested)", { hasText: "use.ts:4" }).waitFor();
    await screenshot(page, "places-5-attached");
    const sent = await asked(chat, () => chat.send("What are these?"));
    assert.match(sent, /path=\\"lamp\.ts\\"/);
    assert.match(sent, /path=\\"use\.ts\\" lines=\\"4-4\\"/);
  },

  async "an edit at the cursor is reviewed, and its errors are told to the model"(chat) {
    const editor = await openFile("lamp.ts");
    await editor.locator(".view-line", { hasText: "return" }).click();
    await page.keyboard.press("Control+k");
    await page.keyboard.press("Control+n");
    // A box of its own, below the line, that has the focus.
    const box = page.locator(".review-widget .comment-form .monaco-editor");
    await box.waitFor();
    await until("the box to have the focus", () => box.evaluate((editor) => editor.contains(document.activeElement)));
    await page.keyboard.press("Escape");
    await box.waitFor({ state: "detached" });
    await page.keyboard.press("Control+k");
    await page.keyboard.press("Control+n");
    await box.waitFor();
    await until("the box to have the focus", () => box.evaluate((editor) => editor.contains(document.activeElement)));
    await page.keyboard.type("Return the number");
    await screenshot(page, "places-6-inline");
    model.answers.push(
      [["read_file", { path: "lamp.ts" }]],
      [["edit_replace_exact", { path: "lamp.ts", old: "return `lamp of ${watts} W`;", new: "return watts;" }]],
      "It is done.",
    );
    const before = model.requests.length;
    await page.keyboard.press("Enter");
    await box.waitFor({ state: "detached" });
    await accept(chat, "places-7-inline-review");
    await until("the result", () => model.requests.length >= before + 3);
    await chat.idle();
    assert.match(JSON.stringify(model.requests[before].messages.at(-1).content), /Return the number.*at the cursor in lamp\.ts:2/s);
    const result = model.last();
    assert.match(result, /"applied":true/);
    assert.match(result, /"diagnostics":\[\{"path":"lamp\.ts","line":2,"severity":"error","message":"Type 'number' is not assignable to type 'string'\./);
    git("checkout", "-q", "lamp.ts");
  },

  async "the errors of a file that is not open are told to the model, too"(chat) {
    await openFile("use.ts");
    await squiggle().waitFor();
    await palette(page, "View: Close All Editors");
    model.answers.push(
      [["read_file", { path: "lamp.ts" }]],
      [["edit_replace_exact", { path: "lamp.ts", old: "return `lamp of ${watts} W`;", new: "return watts;" }]],
      "It is done.",
    );
    const before = model.requests.length;
    await chat.send("Return the number");
    await accept(chat, "places-7b-not-open");
    await until("the result", () => model.requests.length >= before + 3);
    await chat.idle();
    assert.match(model.last(), /"diagnostics":\[\{"path":"lamp\.ts","line":2,"severity":"error","message":"Type 'number' is not assignable/);
    assert.equal(await page.locator(".tabs-container .tab", { hasText: "lamp.ts" }).count(), 0);
    git("checkout", "-q", "lamp.ts");
  },

  async "the model asks VS Code's language servers, and renames with them"(chat) {
    await openFile("use.ts");
    await squiggle().waitFor();
    model.answers.push([["lsp", { action: "definition", path: "use.ts", line: 3, symbol: "lamp" }]]);
    await asked(chat, () => chat.send("Where is lamp?"));
    assert.match(model.last(), /"locations":\[\{"path":"lamp\.ts","line":1,"column":17/);
    model.answers.push([["lsp", { action: "diagnostics", path: "use.ts" }], ["lsp", { action: "symbols", path: "lamp.ts" }]]);
    await asked(chat, () => chat.send("What is wrong?"));
    assert.match(model.last(), /"severity":"error","message":"Type 'string' is not assignable/);
    assert.match(model.last(), /"name":"lamp","kind":"function"/);
    model.answers.push([["edit_rename_symbol", { path: "use.ts", line: 3, symbol: "lamp", newName: "torch" }]]);
    await chat.send("Call it torch");
    await accept(chat, "places-8-rename");
    await chat.idle();
    assert.match(await readFile(file("lamp.ts"), "utf8"), /function torch\(/);
    assert.match(await readFile(file("use.ts"), "utf8"), /import \{ torch \}.*torch\(40\)/s);
    git("checkout", "-q", ".");
  },

  async "a commit message is written, and changes are reviewed"(chat) {
    await writeFile(file("src/notes.txt"), "one\ntwo\n");
    // The item, not its label: a badge may lie over that.
    await page.locator('.activitybar .action-item:has(.action-label[aria-label^="Source Control"])').click();
    const box = page.locator(".scm-view .scm-input .monaco-editor, .scm-view .scm-editor .monaco-editor").first();
    await box.waitFor();
    await page.locator(".scm-view .monaco-list-row", { hasText: "notes.txt" }).waitFor();
    model.answers.push("```\nCount to two\n\nOne was not enough.\n```");
    const before = model.requests.length;
    await palette(page, "North: Write a Commit Message");
    await until("the message", async () => (await box.innerText()).replaceAll("\u00a0", " ").includes("Count to two"));
    await screenshot(page, "places-9-commit");
    const request = model.requests[before];
    assert.match(JSON.stringify(request.messages), /\+two/);
    assert.ok(!request.tools.some(({ name }) => name.startsWith("edit_")), "it can change nothing");
    await palette(page, "North: Show Chat");
    // Else the chat takes the focus from the palette that opens next.
    await until("the input to have the focus", () => chat.input.evaluate((one) => one === document.activeElement));
    const sent = await asked(chat, () => palette(page, "North: Review Changes"));
    assert.match(sent, /Review these changes/);
    assert.match(sent, /\+two/);
    git("checkout", "-q", ".");
  },

  async "a command runs in a terminal of VS Code's, and its output goes to the model"(chat) {
    model.answers.push([["shell_run", { command: "echo it\\'s $((40 + 2)); printf '\\033[31mred\\033[0m\\n'; exit 3" }]]);
    const before = model.requests.length;
    await chat.send("Run it");
    await chat.question("command").getByRole("button", { name: "Run", exact: true }).click();
    await until("the result", () => model.requests.length >= before + 2);
    await chat.idle();
    await screenshot(page, "places-10-terminal");
    assert.match(model.last(), /^it's 42\nred\n.*exit code 3/s);
    // The user reads the command, not what North puts around it.
    const text = (await page.locator(".terminal-wrapper .xterm-rows").first().textContent()).replaceAll("\u00a0", " ");
    assert.match(text, /echo it/);
    assert.doesNotMatch(text, /--noprofile|'env'|ANTHROPIC_API_KEY/, text);
    await page.locator(".terminal-tabs-entry, .single-terminal-tab, .terminal-group", { hasText: /North|bash/ }).first().waitFor();
    model.answers.push([["shell_run", { command: "echo begun; sleep 60", timeout: 2 }]]);
    const again = model.requests.length;
    await chat.send("And that");
    await chat.question("command").getByRole("button", { name: "Run", exact: true }).click();
    await until("the result", () => model.requests.length >= again + 2);
    assert.match(model.last(), /begun.*stopped after 2 s/s);
    await chat.idle();
  },

  async "a failed test is given to North with what it said"(chat) {
    const sent = await asked(chat, () => palette(page, "Probe: Fix a Failed Test"));
    assert.match(sent, /The test \\"burns\\" fails/);
    assert.match(sent, /it is dark/);
    assert.match(sent, /darkness/);
    assert.match(sent, /path=\\"lamp\.ts\\"/);
  },

  async "where North only reads, an edit is not asked for in vain"(chat) {
    await page.keyboard.press("Escape");
    await chat.send("/mode ask");
    await page.locator('.statusbar-item[id*="north.status"]', { hasText: "Ask" }).waitFor();
    await openFile("lamp.ts");
    await palette(page, "North: Document");
    const told = notification(page, "in which it only reads");
    await told.waitFor();
    await screenshot(page, "places-11-ask-mode");
    const sent = await asked(chat, () => told.getByRole("button", { name: "Switch to Agent" }).click());
    assert.match(sent, /documentation comments/);
    assert.ok(model.requests.at(-1).tools.some(({ name }) => name.startsWith("edit_")));
  },

  async "VS Code's own chat gets tools that keep closed what is closed"() {
    await palette(page, "Probe: Call the Tools");
    const found = await until("the answers", () => readFile(file("probe.json"), "utf8").then((text) => text !== "" && JSON.parse(text), () => undefined));
    await rm(file("probe.json"));
    assert.deepEqual(found.names.sort(), ["north_find_files", "north_read_file", "north_search_text"]);
    assert.match(found.found, /lamp\.ts/);
    assert.match(found.read, /export function lamp/);
    assert.match(found.closed, /^failed: /);
    assert.doesNotMatch(found.closed + found.searched, /the key\\n/);
    assert.doesNotMatch(found.searched, /secret\.txt/);
  },

  async "VS Code's own chat asks North by its name, and continues in the same conversation"(chat) {
    model.answers.push("A lamp has watts.");
    await palette(page, "Probe: Ask in the Chat");
    const input = page.locator(".interactive-session .interactive-input-part");
    await input.locator(".action-label", { hasText: "Probe" }).waitFor(); // VS Code asks nobody before it has a model
    await input.locator(".monaco-editor").click();
    const sent = await asked(chat, () => page.keyboard.press("Enter"));
    assert.match(sent, /what is lamp\?/);
    const answers = page.locator(".interactive-session .interactive-response");
    await until("the answer", async () => /A lamp has watts\./.test(await answers.last().innerText()));
    await screenshot(page, "places-12-participant");
    model.answers.push("Forty.");
    const before = model.requests.length;
    await input.locator(".monaco-editor").click();
    await page.keyboard.type("how many?"); // North's name stays in the input
    await page.keyboard.press("Enter");
    await until("the second answer", async () => /Forty\./.test(await answers.last().innerText()));
    assert.equal(model.requests.length, before + 1);
    assert.match(JSON.stringify(model.requests.at(-1).messages), /what is lamp\?.*A lamp has watts\..*how many\?/);
  },
};

const wanted = process.argv.slice(2);
const failed = [];
try {
  server = await startServer({
    vsix: await packedExtension(),
    extension: probe,
    workspace: project,
    userData: await userDataFor(path.join(folder, "user-data"), north),
    settings: {
      "typescript.preferences.useAliasesForRenames": false,
      "editor.lightbulb.enabled": "on",
      "chat.disableAIFeatures": false,
      "terminal.integrated.enablePersistentSessions": false,
      "terminal.integrated.gpuAcceleration": "off", // so that what a terminal shows is text of the page
    },
    env,
  });
  page = await server.open({ width: 1400, height: 900 });
  await palette(page, "North: Show Chat");
  const chat = new Chat(page);
  await chat.input.waitFor();
  log("open");
  for (const [name, run] of Object.entries(cases)) {
    if (wanted.length > 0 && !wanted.some((word) => name.includes(word))) continue;
    model.answers.length = 0;
    try {
      await run(chat);
      log(`ok: ${name}`);
    } catch (error) {
      failed.push(name);
      console.error(error);
      await screenshot(page, `places-failed-${failed.length}`).catch(() => undefined);
      log(`FAILED: ${name}`);
      await page.keyboard.press("Escape");
      const stop = chat.frame.locator("#stop");
      if (await stop.isVisible()) await stop.click();
    }
  }
  if (failed.length > 0) console.error((await server.logs(/north\.north|North\.log/)).slice(-6_000));
  assert.deepEqual(failed, []);
  model.check();
} finally {
  await server?.stop();
  model.close();
  await rm(folder, { recursive: true, force: true });
}
