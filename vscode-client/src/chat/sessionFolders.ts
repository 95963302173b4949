/** What a conversation is opened with: the folders that it is about, and the window that it is shown in. */

import { posix } from "node:path";
import type * as vscode from "vscode";

import { furtherFolders, mainFolder } from "../common/settings";

interface Opening {
  cwd: string;
  additionalDirectories: string[];
  mcpServers: never[];
  _meta: { north: { windowId?: string; continuesHere?: true } };
}

export function sessionFolders(windowId?: string, isAgreed = false): Opening {
  const north = { ...(windowId === undefined ? {} : { windowId }), ...(isAgreed ? { continuesHere: true as const } : {}) };
  return { cwd: mainFolder()?.uri.fsPath ?? "", additionalDirectories: furtherFolders(), mcpServers: [], _meta: { north } };
}

/** The name by which the server remembers what a window showed last: that of its workspace's storage, which two windows
 *  never share and a restart does not change. A window without a folder has none. */
export function windowIdOf(storage: vscode.Uri | undefined): string | undefined {
  return storage === undefined ? undefined : `vscode ${posix.basename(posix.dirname(storage.path))}`;
}
