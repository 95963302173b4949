/** What git shows as changed, from VS Code's own git extension. */

import * as vscode from "vscode";

import { mainFolder } from "../common/settings";

/** The part of that extension's API that is used here. */
interface GitExports {
  getAPI(version: 1): { getRepository(uri: vscode.Uri): Repository | null; repositories: Repository[] };
}

interface Repository {
  diff(cached?: boolean): Promise<string>;
}

/** Throws with the reason when there is nothing. */
export async function gitDiff(): Promise<string> {
  const extension = vscode.extensions.getExtension<GitExports>("vscode.git");
  if (extension === undefined) throw new Error(vscode.l10n.t("VS Code's git extension is switched off."));
  const api = (extension.isActive ? extension.exports : await extension.activate()).getAPI(1);
  const folder = mainFolder();
  const repository = (folder === undefined ? null : api.getRepository(folder.uri)) ?? api.repositories[0];
  if (repository === undefined) throw new Error(vscode.l10n.t("the folder is not a git repository."));
  const parts = [await repository.diff(true), await repository.diff(false)];
  const diff = parts.filter((part) => part.trim() !== "").join("\n");
  if (diff === "") throw new Error(vscode.l10n.t("git shows no changes."));
  return diff;
}
