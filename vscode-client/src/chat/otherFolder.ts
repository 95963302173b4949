/** Conversations of another folder: copied into this one, or opened in a window of their own; and of one that is gone. */

import * as vscode from "vscode";
import { showInfo } from "../common/notices";
import { isSameFolder } from "../common/sameFolder";

const { l10n } = vscode;

/** What the next window of a folder opens; it is of no use later. */
interface HandedOver {
  folder: string;
  id: string;
  at: number;
  /** The user has said that it goes on there. */
  isAgreed?: boolean;
}

const KEY = "north.handedOver";
const GOOD_FOR_MS = 5 * 60_000;

export interface Handed {
  id: string;
  isAgreed: boolean;
}

export type Where = "fork" | "own";

/** Where a conversation that belongs elsewhere goes on; undefined if the user leaves it. */
export async function askWhere(folder: string): Promise<Where | undefined> {
  const [fork, own] = [l10n.t("Copy It into This Folder"), l10n.t("Open Its Own Folder")];
  const detail = l10n.t("A copy continues here, with this folder's files, and leaves the original as it is. Its own folder opens in another window, with the conversation.");
  const chosen = await showInfo(l10n.t("This conversation is about {0}.", folder), { modal: true, detail }, fork, own);
  return chosen === fork ? "fork" : chosen === own ? "own" : undefined;
}

/** The folder in which a conversation goes on whose own is gone; undefined if the user leaves it. */
export async function askForFolder(gone: string, here: string): Promise<string | undefined> {
  const [stay, choose] = [l10n.t("Continue It Here"), l10n.t("Choose Its Folder…")];
  const detail = l10n.t("If the folder was moved or renamed, choose where it is now. From then on, the conversation reads and changes files there; what you have allowed in the old folder is not taken along.");
  const chosen = await showInfo(l10n.t("This conversation is about {0}, which is gone.", gone), { modal: true, detail }, stay, choose);
  if (chosen !== choose) return chosen === stay ? here : undefined;
  const title = l10n.t("North: The Folder of This Conversation");
  const openLabel = l10n.t("Continue There");
  const [folder] = (await vscode.window.showOpenDialog({ canSelectFolders: true, canSelectFiles: false, title, openLabel })) ?? [];
  return folder?.fsPath;
}

/** Opens a folder in a window of its own, which then shows the conversation. */
export async function openThere(memory: vscode.Memento, folder: string, id: string, isAgreed: boolean): Promise<void> {
  const handed: HandedOver = { folder, id, at: Date.now(), isAgreed };
  await memory.update(KEY, handed);
  await vscode.commands.executeCommand("vscode.openFolder", vscode.Uri.file(folder), { forceNewWindow: true });
}

/** The conversation that another window has handed over to this one; it is taken once. */
export function takeHandedOver(memory: vscode.Memento, folder: string, now = Date.now()): Handed | undefined {
  const handed = memory.get<Partial<HandedOver>>(KEY);
  const { id, at } = handed ?? {};
  if (typeof id !== "string" || !/^[\w-]{1,100}$/.test(id) || typeof handed?.folder !== "string" || !isSameFolder(handed.folder, folder)) return undefined;
  void memory.update(KEY, undefined);
  return typeof at === "number" && now - at < GOOD_FOR_MS ? { id, isAgreed: handed.isAgreed === true } : undefined;
}

/** Takes what is handed over when this window comes to the front: of a folder that is open already VS Code opens no second one. */
export function watchHandedOver(memory: vscode.Memento, folder: () => string, take: (handed: Handed) => Promise<void>): vscode.Disposable {
  return vscode.window.onDidChangeWindowState(({ focused }) => {
    const handed = focused ? takeHandedOver(memory, folder()) : undefined;
    if (handed !== undefined) void take(handed);
  });
}
