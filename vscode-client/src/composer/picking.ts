/** The list of what can go with a message. */

import * as vscode from "vscode";

import { mainFolder } from "../common/settings";
import type { SourceName } from "../messages";

interface Item extends vscode.QuickPickItem {
  source: SourceName | "browse";
}

/** A source, or files and folders that were chosen; undefined when the user wants none. */
export async function chooseSource(): Promise<SourceName | vscode.Uri[] | undefined> {
  const items: Item[] = [
    { source: "selection", label: vscode.l10n.t("Selection"), description: "@selection", iconPath: new vscode.ThemeIcon("list-selection") },
    { source: "file", label: vscode.l10n.t("File in the Editor"), description: "@file", iconPath: new vscode.ThemeIcon("file") },
    { source: "browse", label: vscode.l10n.t("Files or Folders…"), iconPath: new vscode.ThemeIcon("folder-opened") },
    { source: "problems", label: vscode.l10n.t("Problems of the File"), description: "@problems", iconPath: new vscode.ThemeIcon("warning") },
    { source: "all-problems", label: vscode.l10n.t("Problems of the Workspace"), description: "@all-problems", iconPath: new vscode.ThemeIcon("warning") },
    { source: "terminal", label: vscode.l10n.t("Selection in the Terminal"), description: "@terminal", iconPath: new vscode.ThemeIcon("terminal") },
    { source: "diff", label: vscode.l10n.t("Git Changes"), description: "@diff", iconPath: new vscode.ThemeIcon("git-compare") },
  ];
  const title = vscode.l10n.t("North: Attach to the Message");
  const placeHolder = vscode.l10n.t("Pictures are pasted or dropped");
  const chosen = await vscode.window.showQuickPick(items, { title, placeHolder, matchOnDescription: true });
  if (chosen === undefined) return undefined;
  if (chosen.source !== "browse") return chosen.source;
  const folder = mainFolder()?.uri;
  const openLabel = vscode.l10n.t("Attach");
  return vscode.window.showOpenDialog({ canSelectMany: true, canSelectFiles: true, canSelectFolders: true, openLabel, ...(folder ? { defaultUri: folder } : {}) });
}
