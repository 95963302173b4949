/** The packed extension, made anew when one of its sources is younger; and the guard for what its server sends. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, readdir, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const checkout = fileURLToPath(new URL("../../../", import.meta.url));
const client = path.join(checkout, "vscode-client");

export async function packedExtension() {
  const vsix = path.join(client, "north.vsix");
  const npm = (...args) => execFileSync("npm", args, { cwd: client, stdio: ["ignore", "ignore", "inherit"] });
  if (!existsSync(path.join(client, "node_modules"))) npm("ci");
  const made = await stat(vsix).then((file) => file.mtimeMs, () => 0);
  const sources = [client, path.join(checkout, "north_lsp"), path.join(checkout, "docs")];
  if (Math.max(...(await Promise.all(sources.map(youngest)))) > made) npm("run", "package");
  return vsix;
}

async function youngest(folder) {
  let newest = 0;
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (["node_modules", "out", "server", "north.vsix", "__pycache__"].includes(entry.name)) continue;
    const name = path.join(folder, entry.name);
    newest = Math.max(newest, entry.isDirectory() ? await youngest(name) : (await stat(name)).mtimeMs);
  }
  return newest;
}

/** A user data folder that names the server: a program's path belongs to the machine, not to the user's settings. */
export function userDataFor(folder, server) {
  return machineSettings(folder, { "north.server.path": server });
}

/** A user data folder with settings of the machine. */
export async function machineSettings(folder, settings) {
  await mkdir(path.join(folder, "Machine"), { recursive: true });
  await writeFile(path.join(folder, "Machine/settings.json"), JSON.stringify(settings));
  return folder;
}

/**
 * Holds what a server sends to its model to the vendors' published rules: `env` for the server, and `check`, which fails
 * for what they would have refused, and where nothing was looked at. The rules are the Python tests' own (`tests/support/guard`).
 */
export function guard(folder) {
  const [record, judged] = ["refused", "judged"].map((name) => path.join(folder, name));
  return {
    env: { PYTHONPATH: path.join(checkout, "tests/support/guard/path"), TESTS_REFUSED: record, TESTS_JUDGED: judged },
    async check() {
      if (existsSync(record)) throw new Error(`the vendors would have refused: ${await readFile(record, "utf8")}`);
      if (!existsSync(judged)) throw new Error("no request was held to the vendors' rules: the guard was not there");
    },
  };
}
