/** Opening what the conversation mentions. */

import { realpath } from "node:fs/promises";
import { basename, isAbsolute, join, normalize, sep } from "node:path";
import * as vscode from "vscode";

import { reason } from "../common/logger";
import { showWarning } from "../common/notices";
import { isInside } from "../common/paths";

export async function openFile(file: string, line: number | null): Promise<void> {
  const at = new vscode.Position(Math.max((line ?? 1) - 1, 0), 0);
  try {
    const document = await vscode.workspace.openTextDocument(vscode.Uri.file(file));
    await vscode.window.showTextDocument(document, { selection: new vscode.Range(at, at) });
  } catch (error) {
    void showWarning(vscode.l10n.t("{0} cannot be opened: {1}", file, reason(error)));
  }
}

/** A place that an answer names. Nothing outside of the open folders is opened, whatever its links lead to, but what `isOurs` knows. */
export async function openPlace(path: string, line: number | null, isOurs: (path: string) => Promise<boolean>): Promise<void> {
  const file = await findInside(path);
  if (file !== undefined) return openFile(file, line);
  if (isAbsolute(path) && (await isOurs(path))) return openFile(path, line);
  void showWarning(vscode.l10n.t("{0} is not a file in the open folders.", path));
}

/** A file of the open folders, by its path, or by the end of it where only one file has that. */
export async function findInside(path: string): Promise<string | undefined> {
  const folders = (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath);
  const candidates = isAbsolute(path) ? [path] : folders.map((folder) => join(folder, path));
  for (const candidate of candidates) {
    const file = await insideOnly(candidate, folders);
    if (file !== undefined) return file;
  }
  if (isAbsolute(path)) return undefined;
  const end = sep + normalize(path);
  const named = basename(path).replace(/[[\]{}*?]/g, "?");
  const found = (await vscode.workspace.findFiles(`**/${named}`, "**/node_modules/**", 100)).filter((uri) => uri.fsPath.endsWith(end));
  const [only] = found;
  return found.length === 1 && only !== undefined ? insideOnly(only.fsPath, folders) : undefined;
}

async function insideOnly(file: string, folders: string[]): Promise<string | undefined> {
  try {
    const real = await realpath(file);
    const roots = await Promise.all(folders.map((folder) => realpath(folder)));
    const { type } = await vscode.workspace.fs.stat(vscode.Uri.file(real));
    return isInside(real, roots) && type === vscode.FileType.File ? file : undefined;
  } catch {
    return undefined; // there is none
  }
}

/** A web page, after VS Code has shown its address and asked; nothing else can be opened by a link. */
export async function openLink(address: string): Promise<void> {
  if (/^https?:\/\//i.test(address)) await openAddress(address);
}

/** Opens an address exactly as it is, after VS Code has shown it and asked; returns whether the user let it. A `Uri` would be
 * spelled anew, with other characters encoded: a page to sign in could not read it any more. VS Code takes a text, too. */
export async function openAddress(address: string): Promise<boolean> {
  return vscode.env.openExternal(address as unknown as vscode.Uri);
}
