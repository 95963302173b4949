/** The folders that a conversation is about. */

import { furtherFolders, mainFolder } from "../common/settings";

export function sessionFolders(): { cwd: string; additionalDirectories: string[]; mcpServers: never[] } {
  return { cwd: mainFolder()?.uri.fsPath ?? "", additionalDirectories: furtherFolders(), mcpServers: [] };
}
