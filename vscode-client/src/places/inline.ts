/** A question at the cursor: a small box for the words, the answer as an edit to review in its place. */

import * as vscode from "vscode";

import { placeOf } from "../composer/chips";
import { selection as selected } from "../composer/attachmentSources";
import { partOf } from "./attachments";
import type { Chat } from "./chat";

export async function askInline(chat: Chat): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined || editor.document.uri.scheme !== "file") {
    void vscode.window.showInformationMessage(vscode.l10n.t("North: put the cursor into a file first."));
    return;
  }
  const { document, selection } = editor;
  const path = vscode.workspace.asRelativePath(document.uri);
  const line = selection.active.line + 1;
  const attachment = selection.isEmpty ? partOf(document, [line, line]) : selected(editor);
  const name = attachment.label;
  const words = await vscode.window.showInputBox({
    title: vscode.l10n.t("North: Edit {0}", name),
    prompt: vscode.l10n.t("You review the edit before it is written."),
    placeHolder: vscode.l10n.t("What is to be changed here"),
  });
  if (words === undefined || words.trim() === "") return;
  const where = selection.isEmpty ? `at the cursor in ${placeOf(path, [line, line])}` : `in ${name}`;
  await chat.edit(`${words.trim()}\n\n(${where})`, [attachment]);
}
