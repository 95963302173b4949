/** What goes along with a message beside what the composer attaches: lines around a place, and texts that are no files. */

import * as vscode from "vscode";

import { type Attachment, placeOf } from "../composer/chips";
import type { Lines } from "./ranges";

/** What is longer is read by North itself, as far as it needs it. */
const MOST_CHARACTERS = 100_000;

/** Whole lines of a document, as the editor shows them: unsaved changes included. */
export function partOf(document: vscode.TextDocument, [first, last]: Lines): Attachment {
  const end = document.lineAt(Math.min(last, document.lineCount) - 1).range.end;
  const text = document.getText(new vscode.Range(new vscode.Position(first - 1, 0), end));
  const uri = document.uri.with({ fragment: `L${first}-L${last}` }).toString();
  return { label: placeOf(vscode.workspace.asRelativePath(document.uri), [first, last]), block: { type: "resource", resource: { uri, text } } };
}

/** What git says about changes. */
export function diffOf(text: string): Attachment {
  const left = text.length - MOST_CHARACTERS;
  const shown = left > 0 ? `${text.slice(0, MOST_CHARACTERS)}\n… ${left} characters left out …` : text;
  return { label: vscode.l10n.t("Git changes"), block: { type: "resource", resource: { uri: "diff:git", text: shown } } };
}
