/** What an edit of the conversation changed, in the diff editor, also long after. */

import * as vscode from "vscode";

import type { Diff } from "../acp";

const SCHEME = "north-change";
/** Those that were opened; the oldest are forgotten. */
const shown = new Map<string, Diff>();
const MOST = 50;
let opened = 0;

export function registerChanges(): vscode.Disposable {
  return vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
    provideTextDocumentContent(uri) {
      const { key, side } = readAddress(uri);
      const diff = shown.get(key);
      return (side === "before" ? diff?.oldText : diff?.newText) ?? "";
    },
  });
}

/** `key` is of this change alone. */
export async function showChange(key: string, diff: Diff, title = titleOf(diff)): Promise<void> {
  shown.delete(key);
  shown.set(key, diff);
  for (const old of [...shown.keys()].slice(0, -MOST)) shown.delete(old);
  // The same address again would show the same text.
  opened += 1;
  const { path } = vscode.Uri.file(diff.path);
  const address = (side: string): vscode.Uri => vscode.Uri.from({ scheme: SCHEME, path, query: JSON.stringify({ key, side, opened }) });
  if (diff.oldText === null || diff.oldText === undefined) {
    // Against an empty text, VS Code would show an empty line as removed.
    await vscode.commands.executeCommand("vscode.changes", title, [[address("after"), undefined, address("after")]]);
  } else await vscode.commands.executeCommand("vscode.diff", address("before"), address("after"), title, { preview: true });
}

export async function closeChange(key: string): Promise<void> {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  const mine = ({ input }: vscode.Tab): boolean =>
    input instanceof vscode.TabInputTextDiff && input.modified.scheme === SCHEME && readAddress(input.modified).key === key;
  await vscode.window.tabGroups.close(tabs.filter(mine));
}

function readAddress(uri: vscode.Uri): { key: string; side: string } {
  return JSON.parse(uri.query) as { key: string; side: string };
}

function titleOf(diff: Diff): string {
  return vscode.l10n.t("{0} (changed by North)", vscode.workspace.asRelativePath(diff.path));
}
