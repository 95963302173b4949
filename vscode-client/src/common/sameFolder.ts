/** Folders by what they are, not by how they are spelled: links are followed, and on Windows case does not count. */

import { realpathSync } from "node:fs";
import { realpath } from "node:fs/promises";

export function isSameFolder(one: string, other: string): boolean {
  return spelled(one) === spelled(other) || spelled(real(one)) === spelled(real(other));
}

/** Which of these folders are `here`, so that it can be told of each at once. */
export async function foldersHere(here: string, folders: readonly string[]): Promise<(folder: string) => boolean> {
  const own = spelled(await found(here));
  const rows = await Promise.all([...new Set(folders)].map(async (folder) => [folder, spelled(await found(folder))] as const));
  const same = new Set(rows.flatMap(([folder, is]) => (is === own ? [folder] : [])));
  return (folder) => same.has(folder) || spelled(folder) === spelled(here);
}

/** How a path is compared. */
export function spelled(path: string, platform: string = process.platform): string {
  if (platform !== "win32") return path.length > 1 ? path.replace(/\/+$/, "") : path;
  return path.replaceAll("/", "\\").replace(/(?<!:)\\+$/, "").toLowerCase();
}

/** Where it is in the end; a folder that is gone stays as it is named. */
function real(path: string): string {
  try {
    return path === "" ? "" : realpathSync.native(path);
  } catch {
    return path;
  }
}

function found(path: string): Promise<string> {
  return path === "" ? Promise.resolve("") : realpath(path).catch(() => path);
}
