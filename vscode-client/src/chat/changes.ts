/** What an edit of the conversation changed, in the diff editor, also long after. */

import * as vscode from "vscode";

import type { Diff } from "../acp";

const SCHEME = "north-change";
/** Those that were opened; the oldest are forgotten. */
const shown = new Map<string, Diff>();
const MOST = 50;

export function registerChanges(): vscode.Disposable {
  return vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
    provideTextDocumentContent(uri) {
      const { key, side } = JSON.parse(uri.query) as { key: string; side: "before" | "after" };
      const diff = shown.get(key);
      return (side === "before" ? diff?.oldText : diff?.newText) ?? "";
    },
  });
}

/** `key` is of this change alone. */
export async function showChange(key: string, diff: Diff): Promise<void> {
  shown.delete(key);
  shown.set(key, diff);
  for (const old of [...shown.keys()].slice(0, -MOST)) shown.delete(old);
  const { path } = vscode.Uri.file(diff.path);
  const address = (side: string): vscode.Uri => vscode.Uri.from({ scheme: SCHEME, path, query: JSON.stringify({ key, side }) });
  const title = vscode.l10n.t("{0} (changed by North)", vscode.workspace.asRelativePath(diff.path));
  await vscode.commands.executeCommand("vscode.diff", address("before"), address("after"), title, { preview: true });
}
