import * as vscode from "vscode";

import type { Source } from "../install/choice";

export const SERVER_PATH = "north.server.path";

/** The program that the user chose, with `~` and `${workspaceFolder}` filled in; empty for none. */
export function chosenServer(home: string, folder: string | undefined): string {
  return inHome(text(SERVER_PATH), home).replaceAll("${workspaceFolder}", folder ?? "");
}

export function serverSource(): Source {
  const value = text("north.server.source");
  return value === "path" || value === "workspace" ? value : "included";
}

/** The Python that the included server is installed with; empty for the first that fits. */
export function chosenPython(home: string): string {
  return inHome(text("north.server.python"), home);
}

function text(name: string): string {
  const value: unknown = vscode.workspace.getConfiguration().get(name);
  return typeof value === "string" ? value.trim() : "";
}

function inHome(path: string, home: string): string {
  return path.startsWith("~/") ? `${home}${path.slice(1)}` : path;
}

/** Whether an accepted edit of an open file is saved, if the file had no unsaved changes. */
export function savesEdits(): boolean {
  return vscode.workspace.getConfiguration().get("north.saveAcceptedEdits") !== false;
}

/** The page of settings that can hold it: those about programs belong to the machine, which a remote window has of its own. */
export function openSetting(name = SERVER_PATH): Thenable<unknown> {
  const command = vscode.env.remoteName === undefined ? "workbench.action.openSettings" : "workbench.action.openRemoteSettings";
  return vscode.commands.executeCommand(command, { query: name });
}

/** The folder that North works on: the first of the workspace. */
export function mainFolder(): vscode.WorkspaceFolder | undefined {
  return vscode.workspace.workspaceFolders?.find((folder) => folder.uri.scheme === "file");
}

export function furtherFolders(): string[] {
  const folders = vscode.workspace.workspaceFolders ?? [];
  return folders.filter((folder) => folder.uri.scheme === "file" && folder !== mainFolder()).map((folder) => folder.uri.fsPath);
}

/** All folders of the workspace that are on disk. */
export function workspaceFolders(): string[] {
  return (vscode.workspace.workspaceFolders ?? []).filter((folder) => folder.uri.scheme === "file").map((folder) => folder.uri.fsPath);
}
