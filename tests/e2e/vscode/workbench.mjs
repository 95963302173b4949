/**
 * A real VS Code workbench for a test: code-server on loopback, driven in Chromium by Playwright.
 *
 * Runs under the test bed's own Node (see `run`) and finds code-server and Playwright beside it.
 * Knows nothing of North. Every wait is for a condition, with a deadline.
 */
import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const bed = createRequire(process.execPath);
const { chromium } = bed("playwright-core");
const codeServer = path.join(path.dirname(bed.resolve("code-server/package.json")), "out/node/entry.js");

/** Where pictures and logs are kept. */
export const artifacts = fileURLToPath(new URL("../artifacts/vscode/", import.meta.url));

/** How long one wait may take, in milliseconds: so long that a busy machine is not a failure. */
const deadline = Number(process.env.NORTH_E2E_DEADLINE_MS ?? 60_000);

const browserPath = process.env.NORTH_E2E_CHROMIUM ?? "/usr/bin/chromium-headless-shell";

const chromiumFlags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
  "--disable-quic",
];

/** Nothing that asks, greets, updates or phones home; a test's own settings go on top. */
const quietSettings = {
  "chat.disableAIFeatures": true,
  // A narrow window would fold the two sides of a diff into one.
  "diffEditor.useInlineViewWhenSpaceIsLimited": false,
  "extensions.autoCheckUpdates": false,
  "extensions.autoUpdate": false,
  "extensions.ignoreRecommendations": true,
  // No extension of the tests runs in the browser.
  "extensions.webWorker": false,
  "git.openRepositoryInParentFolders": "never",
  // It would look through the open files of all processes, again and again.
  "remote.autoForwardPorts": false,
  "security.workspace.trust.enabled": false,
  "telemetry.telemetryLevel": "off",
  "update.mode": "none",
  "workbench.reduceMotion": "on",
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "workbench.startupEditor": "none",
  // What the user's own start files of the shell do, a test must not wait for.
  "terminal.integrated.profiles.linux": { plain: { path: "bash", args: ["--norc"] } },
  "terminal.integrated.defaultProfile.linux": "plain",
  "workbench.tips.enabled": false,
  "workbench.welcomePage.walkthroughs.openOnInstall": false,
};

const trustSettings = {
  "security.workspace.trust.enabled": true,
  "security.workspace.trust.startupPrompt": "never",
  "security.workspace.trust.banner": "never",
};

const xdgFolders = ["CONFIG_HOME", "DATA_HOME", "STATE_HOME", "CACHE_HOME", "RUNTIME_DIR"];

/**
 * Start code-server with one extension and wait until it is healthy.
 *
 * @param {object} options
 * @param {string} [options.vsix] a packed extension; what is in it is put where VS Code puts it
 * @param {boolean} [options.install] whether VS Code itself installs it, which takes seconds
 * @param {string} [options.extension] an unpacked extension's folder, instead of a vsix
 * @param {string} [options.workspace] the folder to open; an empty one by default
 * @param {string} [options.userData] a user data folder to keep (for a restart); a temporary one by default
 * @param {object} [options.settings] user settings, written when the user data folder has no settings.json yet
 * @param {object} [options.env] environment variables for the server, its extension host and what they start
 * @param {boolean} [options.trust] whether folders have to be trusted first, without a question when one is opened
 * @param {string} [options.open] what to open: the `folder`, a `workspace` file of that path, or `nothing`
 * @param {string} [options.locale] the language; it needs a language pack
 */
export async function startServer({ vsix, install = false, extension, workspace, userData, settings = {}, env = {}, trust = false, open = "folder", locale } = {}) {
  const scratch = await mkdtemp(path.join(tmpdir(), "north-e2e-vscode-"));
  const folders = {
    workspace: path.resolve(workspace ?? path.join(scratch, "workspace")),
    userData: path.resolve(userData ?? path.join(scratch, "user-data")),
    extensions: path.join(scratch, "extensions"),
  };
  for (const folder of Object.values(folders)) await mkdir(folder, { recursive: true });
  for (const name of xdgFolders) await mkdir(path.join(scratch, name), { mode: 0o700 });
  const settingsFile = path.join(folders.userData, "User", "settings.json");
  if (!existsSync(settingsFile)) {
    await mkdir(path.dirname(settingsFile), { recursive: true });
    await writeFile(settingsFile, JSON.stringify({ ...quietSettings, ...(trust ? trustSettings : {}), ...settings }, null, 2));
  }

  const common = [
    codeServer,
    ...["--config", path.join(scratch, "config.yaml")],
    ...["--user-data-dir", folders.userData],
    ...["--extensions-dir", folders.extensions],
  ];
  const environment = {
    ...process.env,
    // No extension gallery: there is nothing to ask it, and it is not on this machine.
    EXTENSIONS_GALLERY: "{}",
    // code-server keeps logs and sockets of its own in the user's folders, whatever its flags say.
    ...Object.fromEntries(xdgFolders.map((name) => [`XDG_${name}`, path.join(scratch, name)])),
    ...env,
  };
  // Each of these, set by a hosting service or in another VS Code's terminal, would redirect the server.
  const redirecting = ["PORT", "PASSWORD", "VSCODE_IPC_HOOK_CLI", "CODE_SERVER_SESSION_SOCKET"];
  for (const name of redirecting) delete environment[name];

  let server;
  let browser;
  async function stop() {
    await browser?.close();
    await server?.stop();
    // The last processes of the group may still be writing.
    await rm(scratch, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }

  try {
    // The first start takes every extension that it finds in its folder for an installed one, a link as well.
    if (extension) await symlink(path.resolve(extension), path.join(folders.extensions, path.basename(extension)));
    if (vsix && install) await run([...common, "--install-extension", path.resolve(vsix)], environment);
    else if (vsix) await unpack(path.resolve(vsix), folders.extensions);
    server = launch(
      [
        ...common,
        ...["--bind-addr", "127.0.0.1:0", "--auth", "none"],
        "--disable-telemetry",
        "--disable-update-check",
        ...(trust ? [] : ["--disable-workspace-trust"]),
        ...(locale === undefined ? [] : ["--locale", locale]),
        "--disable-getting-started-override",
        // When this process is killed and cannot stop the server, it stops by itself.
        "--idle-timeout-seconds=600",
      ],
      environment,
    );

    const origin = await until("code-server to listen", () => {
      server.check();
      return /listening on (http:\/\/127\.0\.0\.1:\d+)/.exec(server.output())?.[1];
    });
    await until("code-server's /healthz", async () => {
      server.check();
      return fetch(`${origin}/healthz`).then((answer) => answer.ok, () => false);
    });

    const address = new URL(origin);
    if (open === "folder") address.searchParams.set("folder", folders.workspace);
    else if (open === "nothing") address.searchParams.set("ew", "true");
    else address.searchParams.set("workspace", open);
    return {
      ...folders,
      url: address.href,
      pid: server.pid,
      /** What code-server printed. */
      output: server.output,
      /** The log files whose path matches; `logs(/exthost/)` for the extension host and its output channels. */
      logs: (pattern = /\.log$/) => readLogs(path.join(folders.userData, "logs"), pattern),
      /** A Playwright page on the workbench, ready for keys; `beside` another one it is a second window of the same VS Code. */
      async open({ width = 1280, height = 800, beside } = {}) {
        browser ??= await chromium.launch({ executablePath: browserPath, args: chromiumFlags, env: environment });
        const context = beside?.context() ?? (await browser.newContext({ viewport: { width, height } }));
        context.setDefaultTimeout(deadline);
        const page = await context.newPage();
        await page.goto(address.href);
        await page.locator(".monaco-workbench .statusbar").waitFor();
        return page;
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Run a command from the palette by its exact title, waiting for the extension that contributes it. */
export async function palette(page, title) {
  const input = page.locator(".quick-input-widget input.input");
  const entry = page
    .locator(".quick-input-list .monaco-list-row")
    .filter({ has: page.locator(".label-name", { hasText: exactly(title) }) })
    .first();
  const soon = { timeout: 2_000 };
  const focused = () => entry.evaluate((row) => row.classList.contains("focused"), undefined, soon);
  const reached = async () => {
    for (let rows = 0; rows < 30; rows += 1) {
      if (await focused()) return true;
      await page.keyboard.press("ArrowDown");
      await delay(50);
    }
    return false;
  };
  await until(`"${title}" to have the focus in the command palette`, async () => {
    // The list is made when the palette opens: one that lacks the command is closed and opened again. And it closes when
    // something else takes the focus, like a page that has just come.
    await page.keyboard.press("F1");
    const open = await input.fill(`>${title}`, soon).then(reached).catch(() => false);
    if (!open) await page.keyboard.press("Escape");
    return open;
  });
  await page.keyboard.press("Enter");
  await entry.waitFor({ state: "hidden" });
}

/**
 * The document inside a webview: a frame locator, to be asked with `.locator(...)`.
 *
 * VS Code lays webviews over the workbench, outside the view that they belong to, so with several open
 * name the extension ("publisher.name") whose webview is meant; `place` is "view" or "tab", where it has both.
 */
export function webview(page, extension, place) {
  const owner = extension === undefined ? "" : `[src*="extensionId=${extension}"]`;
  const inView = '[src*="purpose=webviewView"]';
  const there = place === undefined ? "" : place === "view" ? inView : `:not(${inView})`;
  return page.frameLocator(`iframe.webview.ready${owner}${there}`).frameLocator("iframe#active-frame");
}

/** The lines on screen of the open diff editor, from top to bottom: `{ original: [...], modified: [...] }`. */
export async function diffEditorLines(page) {
  const editor = page.locator(".monaco-diff-editor").first();
  await editor.locator(".view-line").first().waitFor();
  const [original, modified] = await Promise.all(
    ["original", "modified"].map((side) => visibleLines(editor.locator(`.editor.${side}`))),
  );
  return { original, modified };
}

/** The lines on screen of an editor, from top to bottom; not what it draws between them (lenses, deleted lines). */
export async function visibleLines(editor) {
  return editor.locator(".lines-content > .view-lines > .view-line").evaluateAll((lines) =>
    lines
      .map((line) => ({ top: line.getBoundingClientRect().top, text: line.textContent.replaceAll("\u00a0", " ") }))
      .sort((a, b) => a.top - b.top)
      .map((line) => line.text),
  );
}

/** The notification that contains a text; its buttons are `.getByRole("button", { name })`. */
export function notification(page, text) {
  return page.locator(".notification-list-item").filter({ hasText: text });
}

/** Save a picture of the page and return its path. */
export async function screenshot(page, name) {
  const file = path.join(artifacts, `${name}.png`);
  await mkdir(artifacts, { recursive: true });
  await page.screenshot({ path: file });
  return file;
}

/** Ask again until the answer is truthy, and return it; fail with what was waited for. */
export async function until(what, ask, milliseconds = deadline) {
  const end = Date.now() + milliseconds;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (Date.now() > end) throw new Error(`waited ${milliseconds} ms in vain for ${what}`);
    await delay(50);
  }
}

function exactly(text) {
  return new RegExp(`^${text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`);
}

/** A Node process in a group of its own, which ends with this process at the latest. */
function launch(args, env) {
  let output = "";
  const child = spawn(process.execPath, args, { env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text));
  const exited = new Promise((resolve) => child.once("exit", resolve));
  const kill = (signal) => {
    try {
      return process.kill(-child.pid, signal);
    } catch (error) {
      if (error.code === "ESRCH") return false;
      throw error;
    }
  };
  const killAtExit = () => kill("SIGKILL");
  process.once("exit", killAtExit);
  return {
    pid: child.pid,
    exited,
    output: () => output,
    check() {
      if (child.exitCode !== null) throw new Error(`code-server ended with ${child.exitCode}:\n${output}`);
    },
    async stop() {
      kill("SIGTERM");
      const end = Date.now() + 5_000;
      while (Date.now() < end && (await isRunning(child.pid))) await delay(20);
      kill("SIGKILL");
      await exited;
      process.off("exit", killAtExit);
    },
  };
}

/** Whether a process group has a living member. Signal 0 does not tell: in a container nobody may reap its zombies. */
async function isRunning(group) {
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await readFile(`/proc/${name}/stat`, "utf8").catch(() => "");
    const [state, , itsGroup] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (Number(itsGroup) === group && state !== "Z") return true;
  }
  return false;
}

/** Put a packed extension into the folder of extensions. */
async function unpack(vsix, extensions) {
  const scratch = await mkdtemp(path.join(tmpdir(), "north-e2e-vsix-"));
  await promisify(execFile)("python3", ["-m", "zipfile", "-e", vsix, scratch]);
  await rename(path.join(scratch, "extension"), path.join(extensions, path.basename(vsix, ".vsix")));
  await rm(scratch, { recursive: true });
}

async function run(args, env) {
  const process = launch(args, env);
  const code = await process.exited;
  await process.stop();
  if (code !== 0) throw new Error(`code-server ${args.slice(1).join(" ")} ended with ${code}:\n${process.output()}`);
}

async function readLogs(folder, pattern) {
  const names = await readdir(folder, { recursive: true }).catch(() => []); // none before the first page
  const files = names.filter((name) => name.endsWith(".log") && pattern.test(name)).sort();
  const texts = await Promise.all(files.map((name) => readFile(path.join(folder, name), "utf8")));
  return files.map((name, index) => `== ${name}\n${texts[index]}`).join("\n");
}
