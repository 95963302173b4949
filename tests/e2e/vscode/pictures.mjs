/**
 * The README's pictures, taken from the real editors: docs/images/*.png. Run it when what they show has changed:
 * `tests/e2e/vscode/run tests/e2e/vscode/pictures.mjs`, with `vscode` or `nvim` for one editor's alone. Look at them before
 * they are committed.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdir, stat } from "node:fs/promises";
import path from "node:path";

import { makeBed } from "./bed.mjs";
import { checkout } from "./packed.mjs";
import { openFile } from "./controls.mjs";
import { terminalPage } from "./terminal-picture.mjs";
import { diffEditorLines, palette, until } from "./workbench.mjs";

const PROMPT = "Greet people by the time of day, and run the tests.";
/** What stands in the pictures for the folder that the test works in. */
const SHOWN = "~/hello";
/** A picture that takes longer to load than the page around it is too large. */
const MOST_BYTES = 150 * 1024;

const before = 'SALUTATION = "Hello"\nSTRANGER = "stranger"\n';
const after = `STRANGER = "stranger"


def salutation(hour: int) -> str:
    """What is said at that hour of the day."""
    if hour < 12:
        return "Good morning"
    return "Good afternoon" if hour < 18 else "Good evening"
`;
const edits = [
  ["from hello.names import", "from datetime import datetime\n\nfrom hello.names import"],
  [before, after],
  ["{SALUTATION}", "{salutation(datetime.now().hour)}"],
];

const bed = await makeBed("pictures");
const project = await bed.sampleProject();
const model = await bed.useScriptedModel();
const { chat, page } = await bed.start({
  workspace: project,
  settings: {
    "breadcrumbs.enabled": false,
    "editor.fontSize": 12,
    "editor.minimap.enabled": false,
    "remote.autoForwardPorts": false,
    "window.commandCenter": false,
    "workbench.colorTheme": "Dark Modern",
    "workbench.layoutControl.enabled": false,
  },
  size: { width: 1200, height: 680 },
});
await mkdir(path.join(checkout, "docs/images"), { recursive: true });

/** What the model answers to the prompt: it reads, edits, and runs the tests. */
function script() {
  model.answers.length = 0;
  const batch = edits.map(([old, text]) => ({ tool: "edit_replace_exact", args: { path: "hello/greeting.py", old, new: text } }));
  model.answers.push(
    [["read_file", { path: "hello/greeting.py" }]],
    [["edit_apply_batch", { edits: batch }]],
    [["shell_run", { command: "python3 -m unittest", description: "Run the tests" }]],
    "Greetings now follow the time of day, and all tests pass.",
  );
}

async function keep(name, target) {
  const file = path.join(checkout, `docs/images/${name}.png`);
  await target.screenshot({ path: file });
  const { size } = await stat(file);
  assert.ok(size <= MOST_BYTES, `${name}.png has ${Math.round(size / 1024)} KB`);
  bed.log(`docs/images/${name}.png: ${Math.round(size / 1024)} KB`);
}

/** The side bar is as wide as a chat needs it. */
async function widen(width) {
  const { x, y, height } = await page.locator(".part.sidebar").boundingBox();
  const edge = x + (await page.locator(".part.sidebar").boundingBox()).width;
  await page.mouse.move(edge, y + height / 2);
  await page.mouse.down();
  await page.mouse.move(x + width, y + height / 2, { steps: 5 });
  await page.mouse.up();
}

/** Another program's output, which is awaited without holding up the model's server. */
function output(program, args, env) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: checkout, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "inherit"] });
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (part) => (text += part));
    child.once("error", reject).once("close", (code) => (code === 0 ? resolve(text) : reject(new Error(`${program} ended with ${code}`))));
  });
}

await bed.each({
  async "nvim: the review, the chat and a command"() {
    script();
    const copy = await bed.sampleProject("for-neovim");
    const folder = bed.path("neovim");
    const folders = ["CONFIG", "DATA", "STATE"].map((name) => [`NORTH_${name}_DIR`, path.join(folder, name)]);
    const env = { ...bed.env, ...Object.fromEntries(folders), HOME: process.env.HOME }; // where Neovim is set up
    await mkdir(folder);
    const python = path.join(checkout, ".venv/bin/python");
    const screens = JSON.parse(await output(python, ["-m", "tests.e2e.nvim.pictures", copy, folder, PROMPT], env));
    const sheet = await page.context().newPage();
    for (const [name, screen] of Object.entries(screens)) {
      await sheet.setContent(terminalPage(screen.replaceAll(copy, SHOWN)));
      await keep(`nvim-${name}`, sheet.locator("pre"));
    }
    await sheet.close();
    await page.bringToFront();
  },

  async "vscode: the review, the chat and a command"() {
    script();
    await palette(page, "Notifications: Toggle Do Not Disturb Mode");
    await widen(400);
    await openFile(page, "hello/greeting.py");
    await chat.send(PROMPT);
    await chat.question("edit").waitFor();
    await until("the diff", async () => (await diffEditorLines(page)).modified.some((line) => line.includes("def salutation")));
    await page.locator(".editor.modified .codelens-decoration a", { hasText: "Accept" }).first().waitFor();
    await page.mouse.move(1000, 600); // where nothing has a hint
    await keep("vscode-review", page);
    await chat.decide("edit", "Accept");
    const run = chat.question("command").getByRole("button", { name: "Run", exact: true });
    await until("the command to have been in view", () => run.isEnabled());
    await chat.question("command").evaluate(
      (card, [from, to]) => {
        const walker = document.createTreeWalker(card, NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) walker.currentNode.data = walker.currentNode.data.replaceAll(from, to);
      },
      [project, SHOWN],
    );
    await page.mouse.move(1000, 600); // where nothing has a hint
    await keep("vscode-command", page);
    await chat.decide("command", "Run");
    await chat.idle();
  },
});
