/** Conversations of another folder: copied into this one, or opened in a window of their own. */

import * as vscode from "vscode";

const { l10n } = vscode;

/** What the next window of a folder opens; it is of no use later. */
interface HandedOver {
  folder: string;
  id: string;
  at: number;
}

const KEY = "north.handedOver";
const GOOD_FOR_MS = 5 * 60_000;

export type Where = "fork" | "own";

/** Where a conversation that belongs elsewhere goes on; undefined if the user leaves it. */
export async function askWhere(folder: string): Promise<Where | undefined> {
  const [fork, own] = [l10n.t("Copy It into This Folder"), l10n.t("Open Its Own Folder")];
  const detail = l10n.t("A copy continues here, with this folder's files, and leaves the original as it is. Its own folder opens in another window, with the conversation.");
  const chosen = await vscode.window.showInformationMessage(l10n.t("This conversation is about {0}.", folder), { modal: true, detail }, fork, own);
  return chosen === fork ? "fork" : chosen === own ? "own" : undefined;
}

/** Opens a folder in a window of its own, which then shows the conversation. */
export async function openThere(memory: vscode.Memento, folder: string, id: string): Promise<void> {
  const handed: HandedOver = { folder, id, at: Date.now() };
  await memory.update(KEY, handed);
  await vscode.commands.executeCommand("vscode.openFolder", vscode.Uri.file(folder), { forceNewWindow: true });
}

/** The conversation that another window has handed over to this one; it is taken once. */
export function takeHandedOver(memory: vscode.Memento, folder: string, now = Date.now()): string {
  const handed = memory.get<Partial<HandedOver>>(KEY);
  const { id, at } = handed ?? {};
  if (typeof id !== "string" || !/^[\w-]{1,100}$/.test(id) || handed?.folder !== folder) return "";
  void memory.update(KEY, undefined);
  return typeof at === "number" && now - at < GOOD_FOR_MS ? id : "";
}
