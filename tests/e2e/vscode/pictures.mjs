/**
 * The pictures of the README, taken from the real editors, and an animation of a turn. `just e2e` takes them, too, and fails
 * if an editor no longer shows the words that a picture has; `just pictures` writes them into docs/images. Words of the
 * names of the cases: only those.
 */
import { execFileSync, spawn } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";

import { makeBed } from "./bed.mjs";
import { checkout } from "./packed.mjs";
import { openFile } from "./controls.mjs";
import { PAUSE } from "./scripted-model.mjs";
import { terminalPage } from "./terminal-picture.mjs";
import { artifacts, diffEditorLines, palette, until } from "./workbench.mjs";

const PROMPT = "Greet everybody only once, and run the tests.";
/** What stands in the pictures for the folder that the test works in. */
const SHOWN = "~/hello";

const stranger = 'STRANGER = "stranger"\n';
const once = `${stranger}

def once(names: Iterable[str]) -> list[str]:
    """The names in their order, each of them once."""
    return list(dict.fromkeys(names))
`;
const edits = [
  ["from hello.names import", "from collections.abc import Iterable\n\nfrom hello.names import"],
  [stranger, once],
  ["[name for name in map(tidy, names) if name]", "once(name for name in map(tidy, names) if name)"],
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

/** Where the pictures lie until they are compared or kept, each with the text that it shows. */
const taken = path.join(artifacts, "../pictures");
await rm(taken, { recursive: true, force: true });
await mkdir(taken, { recursive: true });

/** What the model answers to the prompt: it reads, edits, and runs the tests. */
function script() {
  model.answers.length = 0;
  const batch = edits.map(([old, text]) => ({ tool: "edit_replace_exact", args: { path: "hello/greeting.py", old, new: text } }));
  model.answers.push(
    [`I will look${PAUSE} at how names are greeted.`, ["read_file", { path: "hello/greeting.py" }]],
    [`A name that is given twice is greeted twice.${PAUSE} I keep the first of each.`, ["edit_apply_batch", { edits: batch }]],
    ["Now the tests.", ["shell_run", { command: "python3 -m unittest", description: "Run the tests" }]],
    `Everybody is greeted once now:\n\n- the **order** of the names stays${PAUSE}\n- names are **tidied first**, so \`ada\` and \`Ada\` are the same\n\nAll five tests pass.`,
  );
}

async function keep(name, target, text) {
  await target.screenshot({ path: path.join(taken, `${name}.png`) });
  await writeFile(path.join(taken, `${name}.txt`), text);
}

/** What VS Code shows: the chat, the names of the editors, and the right side of the diff, if there is one. */
async function shown() {
  const words = [await chat.frame.locator("body").innerText(), ...(await page.locator(".tabs-container .tab").allInnerTexts())];
  if ((await page.locator(".monaco-diff-editor").count()) > 0) words.push(...(await diffEditorLines(page)).modified);
  return words.join("\n").replaceAll(project, SHOWN);
}

/** No picture has the folder of the test. */
async function hideFolder() {
  await chat.frame.locator("body").evaluate(
    (body, [from, to]) => {
      const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) walker.currentNode.data = walker.currentNode.data.replaceAll(from, to);
    },
    [project, SHOWN],
  );
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

/** The frames of the animation: a picture, the text that it shows, and how long it stays. */
class Frames {
  #frames = [];

  async take(milliseconds) {
    await hideFolder();
    const name = `turn-${String(this.#frames.length).padStart(2, "0")}`;
    await page.screenshot({ path: path.join(taken, `${name}.frame.png`) });
    this.#frames.push({ name, milliseconds, text: await shown() });
  }

  async keep() {
    await writeFile(path.join(taken, "turn.json"), JSON.stringify(this.#frames));
  }
}

/** The model stops at each pause, and goes on when the picture of it is taken. */
function pauses() {
  let release = () => {};
  model.hold = () => new Promise((resolve) => (release = resolve));
  return { next: () => release(), end: () => ((model.hold = async () => {}), release()) };
}

const rest = () => page.mouse.move(1000, 600); // where nothing has a hint
const answer = (text) => chat.row("answer").filter({ hasText: text }).last().waitFor();

async function reviewIsShown() {
  await chat.question("edit").waitFor();
  await until("the diff", async () => (await diffEditorLines(page)).modified.some((line) => line.includes("def once")));
  await page.locator(".editor.modified .codelens-decoration a", { hasText: "Accept" }).first().waitFor();
}

async function commandIsShown() {
  const run = chat.question("command").getByRole("button", { name: "Run", exact: true });
  await until("the command to have been in view", () => run.isEnabled());
}

await palette(page, "Notifications: Toggle Do Not Disturb Mode");
await widen(400);

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
      await keep(`nvim-${name}`, sheet.locator("pre"), await sheet.locator("pre").innerText());
    }
    await sheet.close();
    await page.bringToFront();
  },

  async "vscode: a turn, the review and a command"() {
    script();
    const frames = new Frames();
    const model = pauses();
    await openFile(page, "hello/greeting.py");
    await chat.input.fill(PROMPT.slice(0, 18));
    await rest();
    await frames.take(500);
    await chat.input.fill(PROMPT);
    await frames.take(1_000);
    await chat.input.press("Enter");
    await answer("I will look");
    await frames.take(500);
    model.next();
    await answer("A name that is given twice");
    await frames.take(700);
    model.next();
    await reviewIsShown();
    await rest();
    await hideFolder();
    await keep("vscode-review", page, await shown());
    await frames.take(3_500);
    await chat.question("edit").getByRole("button", { name: "Accept", exact: true }).hover();
    await frames.take(700);
    await chat.decide("edit", "Accept");
    await commandIsShown();
    await rest();
    await hideFolder();
    await keep("vscode-command", page, await shown());
    await frames.take(3_000);
    await chat.question("command").getByRole("button", { name: "Run", exact: true }).hover();
    await frames.take(700);
    await chat.decide("command", "Run");
    await answer("of the names stays");
    await rest();
    await frames.take(800);
    model.end();
    await chat.idle();
    await until("the end to be in view", () =>
      chat.frame.locator("#rows").evaluate((rows) => rows.querySelector(".row.changes") !== null && rows.scrollHeight - rows.scrollTop - rows.clientHeight < 2),
    );
    await frames.take(4_000);
    await frames.keep();
  },

  /** Compared with those that are kept in docs/images, or put there: `tests/e2e/pictures.py` says which. */
  async "the pictures in docs/images show the same"() {
    const python = path.join(checkout, ".venv/bin/python");
    execFileSync(python, ["-m", "tests.e2e.pictures", taken], { cwd: checkout, stdio: "inherit" });
  },
});
