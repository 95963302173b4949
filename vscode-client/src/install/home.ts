/** Where the extension keeps its own server: a virtual environment for each wheel, in the extension's storage. */

import { access, constants, mkdir, open, readFile, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import * as path from "node:path";

import type { Wheel } from "./wheel";

const DAY = 24 * 60 * 60_000;
/** An environment of another wheel may still be used by another window. */
const UNUSED_DAYS = 14;
const MARK = "installed.json";

export interface Home {
  folder: string;
  python: string;
  program: string;
}

export function homeOf(storage: string, wheel: Wheel, platform: NodeJS.Platform = process.platform): Home {
  const folder = path.join(storage, "server", `${wheel.version}-${wheel.sha256.slice(0, 12)}`);
  const [scripts, end] = platform === "win32" ? ["Scripts", ".exe"] : ["bin", ""];
  return { folder, python: path.join(folder, scripts, `python${end}`), program: path.join(folder, scripts, `north-lsp${end}`) };
}

/** Whether the wheel was installed to its end, and the Python that it was installed with is still there. */
export async function isInstalled({ folder, python, program }: Home, wheel: Wheel): Promise<boolean> {
  try {
    const mark: unknown = JSON.parse(await readFile(path.join(folder, MARK), "utf8"));
    if ((Object(mark) as Record<string, unknown>).sha256 !== wheel.sha256) return false;
    await Promise.all([python, program].map((file) => access(file, constants.X_OK)));
    return true;
  } catch {
    return false;
  }
}

/** The last step of an installation. */
export async function markInstalled({ folder }: Home, wheel: Wheel): Promise<void> {
  const mark = path.join(folder, MARK);
  await writeFile(`${mark}.new`, JSON.stringify({ version: wheel.version, sha256: wheel.sha256 }));
  await rename(`${mark}.new`, mark);
}

/** What is there counts as not installed. */
export function markNotInstalled({ folder }: Home): Promise<void> {
  return rm(path.join(folder, MARK), { force: true });
}

/** The mark's time tells when the environment was used last. */
export async function markUsed({ folder }: Home, now = new Date()): Promise<void> {
  await utimes(path.join(folder, MARK), now, now).catch(() => undefined);
}

/** Removes environments of other wheels that no window has used for two weeks; returns their names. */
export async function removeUnused(home: Home, now = Date.now()): Promise<string[]> {
  const all = path.dirname(home.folder);
  const removed: string[] = [];
  for (const name of await readdir(all).catch(() => [])) {
    const folder = path.join(all, name);
    if (folder === home.folder || name.endsWith(".lock")) continue;
    const used = await stat(path.join(folder, MARK)).catch(() => stat(folder).catch(() => undefined));
    if (used === undefined || now - used.mtimeMs < UNUSED_DAYS * DAY) continue;
    await rm(folder, { recursive: true, force: true });
    removed.push(name);
  }
  return removed;
}

/** Waits until no other window installs the same, then keeps the others waiting until the returned function is called. */
export async function lockHome({ folder }: Home, signal: AbortSignal, pause: () => Promise<void>): Promise<() => Promise<void>> {
  const file = `${folder}.lock`;
  await mkdir(path.dirname(file), { recursive: true });
  for (;;) {
    signal.throwIfAborted();
    try {
      const handle = await open(file, "wx");
      await handle.writeFile(String(process.pid));
      await handle.close();
      return () => rm(file, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    if (await isAbandoned(file)) await rm(file, { force: true });
    else await pause();
  }
}

/** A window that was killed leaves its lock behind; one without a number has just been made. */
async function isAbandoned(file: string): Promise<boolean> {
  const owner = Number(await readFile(file, "utf8").catch(() => ""));
  if (!Number.isInteger(owner) || owner <= 0) {
    const made = await stat(file).catch(() => undefined);
    return made !== undefined && Date.now() - made.mtimeMs > 10_000;
  }
  try {
    process.kill(owner, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}
