/** What keeps North from working, in words, with the ways out of it. */

import * as vscode from "vscode";

import type { PageCommand, Remedy } from "../messages";

export class Problem extends Error {
  constructor(
    message: string,
    readonly remedies: Remedy[],
    /** Nothing is wrong: North waits for the user to open or trust a folder, or to let it be installed. */
    readonly isCalm = false,
  ) {
    super(message);
  }
}

/** The ways out that a problem of any other kind has. */
export function remediesOf(error: unknown): Remedy[] {
  return error instanceof Problem ? error.remedies : [remedy("north.showLog"), remedy("north.restartServer")];
}

export function isCalm(error: unknown): boolean {
  return error instanceof Problem && error.isCalm;
}

export function remedy(command: PageCommand): Remedy {
  return { command, label: labels()[command] ?? command };
}

function labels(): Partial<Record<PageCommand, string>> {
  return {
    "north.openSetting": vscode.l10n.t("Open setting"),
    "north.showLog": vscode.l10n.t("Show log"),
    "north.restartServer": vscode.l10n.t("Try again"),
    "north.installServer": vscode.l10n.t("Install"),
    "north.choosePython": vscode.l10n.t("Choose Python"),
    "north.manageTrust": vscode.l10n.t("Manage Workspace Trust"),
    "north.openFolder": vscode.l10n.t("Open Folder"),
    "north.storeKey": vscode.l10n.t("Add an API key"),
    "north.chooseModel": vscode.l10n.t("Choose a model"),
    "north.openWalkthrough": vscode.l10n.t("First steps"),
  };
}

/** Throws unless there is a trusted folder on disk: before that nothing of the workspace is run or read. */
export function mustHaveTrustedFolder(): void {
  const folders = vscode.workspace.workspaceFolders ?? [];
  if (folders.length === 0) {
    throw new Problem(vscode.l10n.t("Open a folder: North works on the files of one."), [remedy("north.openFolder")], true);
  }
  if (!folders.some((folder) => folder.uri.scheme === "file")) {
    throw new Problem(
      vscode.l10n.t("North works on files on disk, and this folder is not there. Open one that is."),
      [remedy("north.openFolder")],
      true,
    );
  }
  if (!vscode.workspace.isTrusted) {
    throw new Problem(
      vscode.l10n.t(
        "This folder is not trusted yet. North reads it, and can change files and run commands in it after asking you, so it waits until you trust it. Trust a folder only if you know where it comes from.",
      ),
      [remedy("north.manageTrust")],
      true,
    );
  }
}

/** Where the user has switched VS Code's trust off, every folder counts as trusted and nobody has said so. */
export function asksForTrust(): boolean {
  return vscode.workspace.getConfiguration("security.workspace.trust").get("enabled") !== false;
}
