/** Proposals in tabs: a diff for each file, or one editor for all of them. */

import * as path from "node:path";
import * as vscode from "vscode";

import type { Place } from "./hunks";
import type { ProposedFile } from "./proposal";
import type { Review } from "./review";
import { questionOf } from "./texts";

/** The cursor goes there only if the user asked for it (`focus`): words meant for the chat or for a file must not land
 * in a proposal. */
export async function openFile(review: Review, file: ProposedFile, focus: boolean, place = file.undecided()[0]): Promise<void> {
  const { before, after } = review.sidesOf(file.path);
  const title = vscode.l10n.t("{0}: North's proposal", path.basename(file.path));
  const options = { preview: false, preserveFocus: !focus, selection: rangeOf(place) };
  await vscode.commands.executeCommand("vscode.diff", before, after, title, options);
}

/** All files in one editor, which takes the cursor. */
export async function openAll(review: Review): Promise<void> {
  const rows = review.shown.map(({ path: file }) => {
    const { before, after } = review.sidesOf(file);
    return [after, before, after];
  });
  await vscode.commands.executeCommand("vscode.changes", review.title, rows);
}

/** Moves the cursor of an editor that shows a file; false where there is none. */
export function goTo(review: Review, file: ProposedFile, place: Place | undefined): boolean {
  const after = review.sidesOf(file.path).after.toString();
  const editor = vscode.window.visibleTextEditors.find(({ document }) => document.uri.toString() === after);
  if (editor === undefined) return false;
  const range = rangeOf(place);
  editor.selection = new vscode.Selection(range.start, range.start);
  editor.revealRange(range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  return true;
}

/** Where the eye should go: the first line of a hunk that changes. */
export function rangeOf(place: Place | undefined): vscode.Range {
  const line = place === undefined ? 0 : place.start + place.lead;
  return new vscode.Range(line, 0, line, 0);
}

/** The id of the question that a tab shows something of. */
export function shownIn(tab: vscode.Tab | undefined): string | undefined {
  if (tab?.input instanceof vscode.TabInputTextDiff) return questionOf(tab.input.modified);
  for (const uri of severalIn(tab)) {
    const id = questionOf(uri);
    if (id !== undefined) return id;
  }
  return undefined;
}

export async function closeTabs(which: (questionId: string) => boolean): Promise<void> {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  const ours = tabs.filter((tab) => {
    const id = shownIn(tab);
    return id !== undefined && which(id);
  });
  await vscode.window.tabGroups.close(ours, true);
}

/** The right sides of an editor with several diffs, whose type VS Code does not publish yet. */
function severalIn(tab: vscode.Tab | undefined): vscode.Uri[] {
  const input: unknown = tab?.input;
  if (typeof input !== "object" || input === null || !("textDiffs" in input) || !Array.isArray(input.textDiffs)) return [];
  const rows: unknown[] = input.textDiffs;
  return rows.flatMap((row) =>
    typeof row === "object" && row !== null && "modified" in row && row.modified instanceof vscode.Uri ? [row.modified] : [],
  );
}
