import * as vscode from "vscode";

export const SERVER_PATH = "north.server.path";

/** The program that the user chose, with `~` and `${workspaceFolder}` filled in; empty for none. */
export function chosenServer(home: string, folder: string | undefined): string {
  const value = vscode.workspace.getConfiguration().get(SERVER_PATH);
  const text = typeof value === "string" ? value.trim() : "";
  const path = text.startsWith("~/") ? `${home}${text.slice(1)}` : text;
  return path.replaceAll("${workspaceFolder}", folder ?? "");
}

/** Whether an accepted edit of an open file is saved, if the file had no unsaved changes. */
export function savesEdits(): boolean {
  return vscode.workspace.getConfiguration().get("north.saveAcceptedEdits") !== false;
}

export function openSetting(): Thenable<unknown> {
  return vscode.commands.executeCommand("workbench.action.openSettings", SERVER_PATH);
}

/** The folder that North works on: the first of the workspace. */
export function mainFolder(): vscode.WorkspaceFolder | undefined {
  return vscode.workspace.workspaceFolders?.find((folder) => folder.uri.scheme === "file");
}

export function furtherFolders(): string[] {
  const folders = vscode.workspace.workspaceFolders ?? [];
  return folders.filter((folder) => folder.uri.scheme === "file" && folder !== mainFolder()).map((folder) => folder.uri.fsPath);
}
