/** What goes along with a message: a part of a file, a file, a folder, a text. */

import * as vscode from "vscode";

import type { Attachment } from "../chat/session";
import { fragmentOf, type Lines, linesOf, nameOf } from "./ranges";

/** What is longer is read by North itself, as far as it needs it. */
const MOST_CHARACTERS = 50_000;

/** Whole lines of a document, as the editor shows them: unsaved changes included. */
export function partOf(document: vscode.TextDocument, lines: Lines): Attachment {
  const end = document.lineAt(Math.min(lines.last, document.lineCount - 1)).range.end;
  const text = document.getText(new vscode.Range(new vscode.Position(lines.first, 0), end));
  return partWith(document, lines, text);
}

/** What is selected, to the character; nothing for an empty selection. */
export function selectionOf(editor: vscode.TextEditor): Attachment | undefined {
  const { document, selection } = editor;
  return selection.isEmpty ? undefined : partWith(document, linesOf(selection), document.getText(selection));
}

function partWith(document: vscode.TextDocument, lines: Lines, text: string): Attachment {
  const uri = document.uri.with({ fragment: fragmentOf(lines) }).toString();
  return attached(nameOf(vscode.workspace.asRelativePath(document.uri), lines), uri, text);
}

/** A file, read by North: it shows as much of it as fits, unsaved changes included. */
export function fileOf(uri: vscode.Uri): Attachment {
  const name = vscode.workspace.asRelativePath(uri);
  return { label: name, block: { type: "resource_link", uri: uri.toString(), name } };
}

export function folderOf(uri: vscode.Uri): Attachment {
  const name = `${vscode.workspace.asRelativePath(uri)}/`;
  const text = `The user means the folder ${name} of the project. Your tools list and read what is in it.`;
  return attached(name, `folder:${name}`, text);
}

/** A text that is no file. Of a long one it keeps the side where what matters stands. */
export function textOf(label: string, uri: string, text: string, keep: "start" | "end" = "start"): Attachment {
  const left = text.length - MOST_CHARACTERS;
  if (left <= 0) return attached(label, uri, text);
  const note = `… ${left} characters left out …`;
  return attached(label, uri, keep === "end" ? `${note}\n${text.slice(left)}` : `${text.slice(0, MOST_CHARACTERS)}\n${note}`);
}

function attached(label: string, uri: string, text: string): Attachment {
  return { label, block: { type: "resource", resource: { uri, text } } };
}
