/** Proposals in tabs: a diff for each file, or one editor for all of them. A file that is new stands alone: against an
 * empty text, VS Code would show an empty line as removed. */

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
  const { oldPath } = file.change;
  const name = path.basename(file.path);
  const title = vscode.l10n.t("{0}: North's proposal", oldPath === undefined ? name : `${path.basename(oldPath)} → ${name}`);
  const options = { preview: false, preserveFocus: !focus, selection: rangeOf(place) };
  if (isNew(file)) await vscode.commands.executeCommand("vscode.open", after, options, title);
  else await vscode.commands.executeCommand("vscode.diff", before, after, title, options);
}

/** All files in one editor, which takes the cursor. */
export async function openAll(review: Review): Promise<void> {
  const rows = review.shown.map((file) => {
    const { before, after } = review.sidesOf(file.path);
    return [after, isNew(file) ? undefined : before, after];
  });
  await vscode.commands.executeCommand("vscode.changes", vscode.l10n.t("North's proposal"), rows);
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

/** There is no text yet that it could be compared with. */
export function isNew({ diff }: ProposedFile): boolean {
  return diff !== undefined && (diff.oldText ?? "") === "";
}

/** The document that a tab shows, as it would be. */
export function documentIn(tab: vscode.Tab | undefined): vscode.Uri | undefined {
  if (tab?.input instanceof vscode.TabInputTextDiff) return tab.input.modified;
  return tab?.input instanceof vscode.TabInputText ? tab.input.uri : undefined;
}

/** Whether a tab in view shows a document and nothing beside it. */
export function isShownAlone(uri: vscode.Uri): boolean {
  const key = uri.toString();
  return vscode.window.tabGroups.all.some(({ activeTab }) => activeTab?.input instanceof vscode.TabInputText && activeTab.input.uri.toString() === key);
}

/** The id of the question that a tab shows something of. */
export function shownIn(tab: vscode.Tab | undefined): string | undefined {
  const one = documentIn(tab);
  if (one !== undefined) return questionOf(one);
  for (const uri of severalIn(tab)) {
    const id = questionOf(uri);
    if (id !== undefined) return id;
  }
  return undefined;
}

/** Whether a tab in view has a document as one of several. */
export function isShownWithOthers(uri: vscode.Uri): boolean {
  const key = uri.toString();
  return vscode.window.tabGroups.all.some(({ activeTab }) => severalIn(activeTab).some((one) => one.toString() === key));
}

/** Closes the tabs of questions, or those that compare with documents of a scheme. */
export async function closeTabs(which: (questionId: string) => boolean, scheme?: string): Promise<void> {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  const ours = tabs.filter((tab) => {
    const id = shownIn(tab);
    return (id !== undefined && which(id)) || leftSides(tab).some((uri) => uri.scheme === scheme);
  });
  await vscode.window.tabGroups.close(ours, true);
}

function leftSides(tab: vscode.Tab): vscode.Uri[] {
  return tab.input instanceof vscode.TabInputTextDiff ? [tab.input.original] : severalIn(tab, "original");
}

/** One side of an editor with several diffs, whose type VS Code does not publish yet. */
function severalIn(tab: vscode.Tab | undefined, side: "original" | "modified" = "modified"): vscode.Uri[] {
  const input: unknown = tab?.input;
  if (typeof input !== "object" || input === null || !("textDiffs" in input) || !Array.isArray(input.textDiffs)) return [];
  const rows: unknown[] = input.textDiffs;
  return rows.flatMap((row) => {
    const uri: unknown = typeof row === "object" && row !== null ? Object.getOwnPropertyDescriptor(row, side)?.value : undefined;
    return uri instanceof vscode.Uri ? [uri] : [];
  });
}
