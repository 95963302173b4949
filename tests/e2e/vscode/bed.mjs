/**
 * The bed of a test of North's extension: folders and an environment of its own, VS Code with the packed extension,
 * cases that are tried one by one, and what a failed one leaves behind: a picture and the logs.
 *
 *     const bed = await makeBed("area");
 *     bed.useOfflineModel();
 *     const { chat, page } = await bed.start({ workspace: await bed.sampleProject() });
 *     await bed.each({ async "what holds, in words"() { … } });
 *
 * `NORTH_E2E_SERVER` names another north-lsp than the checkout's own.
 */
import { rmSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { Chat } from "./chat.mjs";
import { checkout, guard, machineSettings, packedExtension } from "./packed.mjs";
import { scriptedModel } from "./scripted-model.mjs";
import { artifacts, palette, screenshot, startServer } from "./workbench.mjs";

export const north = process.env.NORTH_E2E_SERVER ?? path.join(checkout, ".venv/bin/north-lsp");

/** A server that answers as a test says (see the file itself). */
export const fakeNorth = fileURLToPath(new URL("fake-north-lsp", import.meta.url));

/** Lines that stand far apart, so that each is a hunk of its own. */
export const spread = (...lines) => lines.map((line) => `${line}\n${"#\n".repeat(12)}`).join("");

/** The cases that the command line asks for: those whose names contain one of its words, all of them without one. */
export function chosen(cases, words = process.argv.slice(2)) {
  const found = Object.entries(cases).filter(([name]) => words.length === 0 || words.some((word) => name.includes(word)));
  if (found.length === 0) throw new Error(`no case is called like that; there are:\n${Object.keys(cases).join("\n")}`);
  return found;
}

/** A bed for one VS Code; `area` is the first word of what it leaves behind. */
export async function makeBed(area) {
  const folder = await mkdtemp(path.join(tmpdir(), `north-e2e-${area}-`));
  for (const name of ["config", "data", "home", "state"]) await mkdir(path.join(folder, name));
  return new Bed(area, folder);
}

class Bed {
  server;
  page;
  #area;
  #began = performance.now();
  /** What has to hold at the end. */
  #checks = [];
  #closing = [];
  #told = new WeakSet();
  #removeAtExit;

  constructor(area, folder) {
    this.#area = area;
    this.folder = folder;
    this.env = {
      HOME: this.path("home"),
      NORTH_CONFIG_DIR: this.path("config"),
      NORTH_DATA_DIR: this.path("data"),
      NORTH_STATE_DIR: this.path("state"),
    };
    this.#removeAtExit = () => rmSync(folder, { recursive: true, force: true });
    process.once("exit", this.#removeAtExit);
  }

  path(...parts) {
    return path.join(this.folder, ...parts);
  }

  /** Say how far the test is, with the seconds since its beginning. */
  log(what) {
    console.log(`${what} (${((performance.now() - this.#began) / 1000).toFixed(1)} s)`);
  }

  /** A copy of the demo's project. */
  async sampleProject(name = "sample") {
    const project = this.path(name);
    await cp(path.join(checkout, "north_lsp/cli/demo/sample"), project, { recursive: true });
    return project;
  }

  /** Hold what the server sends to its model to the vendors' rules. */
  #useGuard() {
    const rules = guard(this.folder);
    Object.assign(this.env, rules.env);
    this.#checks.push(() => rules.check());
  }

  useOfflineModel() {
    this.#useGuard();
    this.env.NORTH_MODEL = "offline";
  }

  /** A provider of the tests that plays what a file says: the answers to the prompts of each of its servers. */
  usePlayedModel(file) {
    this.#useGuard();
    this.env.NORTH_TEST_PROVIDER = file;
    this.env.NORTH_MODEL = "north-test/test";
  }

  /** A model that answers as the test writes; see `scripted-model.mjs`. */
  async useScriptedModel(isEndless) {
    const model = await scriptedModel(this.folder, isEndless);
    Object.assign(this.env, model.env);
    this.#checks.push(() => model.check());
    this.#closing.push(() => model.close());
    return model;
  }

  /**
   * Start VS Code with the packed extension and show the chat: `{ chat, page, server }`.
   *
   * @param {object} options
   * @param {object} [options.machine] settings of the machine; they name the checkout's server by default
   * @param {object} [options.settings] settings of the user, on top of those that every test has
   * @param {object} [options.env] on top of the bed's own
   * @param {object} [options.size] of the window
   * @param {boolean} [options.ready] whether to wait until a conversation is open
   * The others are those of `startServer`.
   */
  async start({ machine = { "north.server.path": north }, settings = {}, env = {}, size, ready = true, ...others }) {
    try {
      const vsix = await packedExtension();
      const userData = await machineSettings(this.path("user-data"), machine);
      const server = await startServer({
        ...others,
        vsix,
        userData,
        settings: { "files.autoSave": "off", ...settings },
        env: { ...this.env, ...env },
      });
      this.server = server;
      this.page = await server.open(size);
      await this.page.locator('.statusbar-item[id*="north.status"]').waitFor();
      await palette(this.page, "North: Show Chat");
      const chat = new Chat(this.page);
      if (ready) await chat.ready();
      await chat.focused();
      this.log("chat opened");
      return { chat, page: this.page, server };
    } catch (error) {
      await this.#report("start", error);
      await this.stop();
      throw error;
    }
  }

  /** Try one case: whether it passed. One that fails does not keep the others from being tried. */
  async attempt(name, check) {
    try {
      await check();
      this.log(`ok: ${name}`);
      return true;
    } catch (error) {
      await this.#report(name, error);
      return false;
    }
  }

  /** Try the chosen cases one after the other, hold what was sent to the rules, and stop; `recover` follows a failed case. */
  async each(cases, { before = async () => {}, recover = async () => {} } = {}) {
    try {
      for (const [name, check] of chosen(cases)) {
        const passed = await this.attempt(name, async () => {
          await before(name);
          await check();
        });
        if (passed) continue;
        await recover().catch((error) => console.error(`what follows may fail, too: ${error.message}`));
      }
      await this.attempt("what was sent follows the rules", () => this.check());
    } finally {
      await this.stop();
    }
  }

  /** Fails for requests that a vendor would have refused, and where nothing was looked at. */
  async check() {
    for (const check of this.#checks) await check();
  }

  /** End what was started and remove what was made. */
  async stop() {
    await this.server?.stop();
    for (const close of this.#closing.splice(0)) close();
    // The last processes may still be writing.
    await rm(this.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    process.off("exit", this.#removeAtExit);
    this.log("stopped");
  }

  /** The picture and the end of the logs; all of them are kept beside the picture. */
  async #report(name, error) {
    if (this.#told.has(error)) return;
    this.#told.add(error);
    process.exitCode = 1;
    console.error(`FAILED: ${name}: ${error.stack}`);
    if (this.page === undefined) return;
    const what = `${this.#area}-failed-${name.replaceAll(/\W+/g, "-")}`;
    const picture = await screenshot(this.page, what).catch((reason) => `none: ${reason.message}`);
    const north = await readFile(this.path("state/north.log"), "utf8").catch(() => "none");
    const logs = `${this.server.output()}\n${await this.server.logs(/North|remoteexthost/)}\n== north.log\n${north}`;
    const kept = path.join(artifacts, `${what}.log`);
    await writeFile(kept, logs);
    console.error(`${logs.slice(-6_000)}\nscreenshot: ${picture}\nlogs: ${kept}`);
  }
}
