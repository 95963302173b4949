/** A conversation as a file, or as a text to copy from: the server makes it, whether it is open or only stored. */

import { homedir } from "node:os";
import { extname, join } from "node:path";
import * as vscode from "vscode";

import { showInfo } from "../common/notices";
import { mainFolder } from "../common/settings";
import type { Conversations } from "./conversations";

const METHOD = "_north/sessions/export";

interface Exported {
  path?: string;
  text?: string;
}

/** Asks for a file and writes the conversation there; that a file is replaced was confirmed in the dialog. */
export async function exportConversation(conversations: Conversations, id = shown(conversations)): Promise<void> {
  const chosen = await vscode.window.showSaveDialog({
    title: vscode.l10n.t("North: Export a Conversation"),
    saveLabel: vscode.l10n.t("Export"),
    defaultUri: vscode.Uri.file(join(mainFolder()?.uri.fsPath ?? homedir(), `north-${id}.html`)),
    filters: {
      [vscode.l10n.t("Web page")]: ["html"],
      Markdown: ["md"],
      [vscode.l10n.t("Text")]: ["txt"],
      JSON: ["json"],
    },
  });
  if (chosen === undefined) return;
  if (chosen.scheme !== "file") throw new Error(vscode.l10n.t("North writes to files on the disk only."));
  const progress = { location: vscode.ProgressLocation.Notification, title: vscode.l10n.t("North exports the conversation"), cancellable: true };
  const params = { sessionId: id, path: chosen.fsPath, replace: true };
  const written = await vscode.window.withProgress(progress, (_, cancelled) => conversations.request<Exported>(METHOD, params, cancelled));
  await offer(vscode.Uri.file(written.path ?? chosen.fsPath));
}

/** Everything that the model was told and said, as a text in an editor of its own. */
export async function showAsText(conversations: Conversations, id = shown(conversations)): Promise<void> {
  const { text } = await conversations.request<Exported>(METHOD, { sessionId: id, format: "txt" });
  const document = await vscode.workspace.openTextDocument({ content: text ?? "", language: "plaintext" });
  await vscode.window.showTextDocument(document);
}

async function offer(file: vscode.Uri): Promise<void> {
  const [open, reveal] = [vscode.l10n.t("Open"), vscode.l10n.t("Reveal")];
  const told = vscode.l10n.t("The conversation was exported to {0}. Keys and your home folder are masked.", vscode.workspace.asRelativePath(file));
  const answer = await showInfo(told, open, reveal);
  if (answer === reveal) await show(file);
  if (answer !== open) return;
  // A web page belongs into a browser; where VS Code itself runs in one, its text is shown.
  const isPage = extname(file.fsPath) === ".html" && vscode.env.uiKind === vscode.UIKind.Desktop && vscode.env.remoteName === undefined;
  if (!isPage || !(await vscode.env.openExternal(file))) await vscode.window.showTextDocument(file);
}

async function show(file: vscode.Uri): Promise<void> {
  const isInside = vscode.workspace.getWorkspaceFolder(file) !== undefined;
  await vscode.commands.executeCommand(isInside ? "revealInExplorer" : "revealFileInOS", file);
}

function shown(conversations: Conversations): string {
  const { id } = conversations.active.session;
  if (id === "") throw new Error(vscode.l10n.t("There is no conversation to export yet."));
  return id;
}
