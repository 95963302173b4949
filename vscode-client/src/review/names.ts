/** What files are called in front of the user. */

import * as path from "node:path";

import { mainFolder } from "../common/settings";

/** A file as the user knows it: relative to the folder, if it is inside. */
export function nameOf(file: string): string {
  const folder = mainFolder()?.uri.fsPath;
  const inside = folder === undefined ? file : path.relative(folder, file);
  return (inside.startsWith("..") ? file : inside).replaceAll("\\", "/");
}
