/** Conversations of another folder: copied into this one, or opened in a window of their own; and of one that is gone. */

import { mkdirSync, readFileSync, unlinkSync, watch } from "node:fs";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as vscode from "vscode";

import { showInfo } from "../common/notices";
import { isSameFolder, spelled } from "../common/sameFolder";

const { l10n } = vscode;

/** What the window of a folder opens; it is of no use later. */
interface HandedOver {
  folder: string;
  id: string;
  at: number;
  /** The user has said that it goes on there. */
  isAgreed?: boolean;
  /** Whose window handed it over: those of several computers share what an extension stores on a remote host. */
  machine?: string;
}

/** In the extension's storage, which all windows share. VS Code tells the other windows of what an extension keeps in its
 * state only a while later: a window would look for it too early, and not again. */
const FILE = "handed-over.json";
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
  const detail = l10n.t("If the folder was moved or renamed, choose where it is now. From then on, the conversation reads and changes files there; what you allowed in the old folder does not apply there.");
  const chosen = await showInfo(l10n.t("This conversation is about {0}, which is gone.", gone), { modal: true, detail }, stay, choose);
  if (chosen !== choose) return chosen === stay ? here : undefined;
  const title = l10n.t("North: The Folder of This Conversation");
  const openLabel = l10n.t("Continue There");
  const [folder] = (await vscode.window.showOpenDialog({ canSelectFolders: true, canSelectFiles: false, title, openLabel })) ?? [];
  return folder?.fsPath;
}

/** Opens a folder in a window of its own, which then shows the conversation. */
export async function openThere(storage: string, folder: string, id: string, isAgreed: boolean): Promise<void> {
  await handOver(storage, { folder, id, at: Date.now(), isAgreed, machine: vscode.env.machineId });
  await vscode.commands.executeCommand("vscode.openFolder", vscode.Uri.file(folder), { forceNewWindow: true });
}

/** Whole as soon as it is there. */
export async function handOver(storage: string, handed: HandedOver): Promise<void> {
  const file = join(storage, FILE);
  await mkdir(storage, { recursive: true });
  await writeFile(`${file}.new`, JSON.stringify(handed));
  await rename(`${file}.new`, file);
}

/** The conversation that another window has handed over to this one; it is taken once. */
export function takeHandedOver(storage: string, folder: string, now = Date.now(), isSame = isSameFolder): Handed | undefined {
  const file = join(storage, FILE);
  const handed = read(file);
  const { id, at } = handed;
  if (typeof id !== "string" || !/^[\w-]{1,100}$/.test(id) || typeof handed.folder !== "string" || !isSame(handed.folder, folder)) return undefined;
  if (handed.machine !== vscode.env.machineId) return undefined; // of another computer's window on this host
  try {
    unlinkSync(file);
  } catch {
    return undefined; // another window was quicker
  }
  return typeof at === "number" && now - at < GOOD_FOR_MS ? { id, isAgreed: handed.isAgreed === true } : undefined;
}

function read(file: string): Partial<HandedOver> {
  try {
    return Object(JSON.parse(readFileSync(file, "utf8"))) as Partial<HandedOver>;
  } catch {
    return {}; // there is none
  }
}

/** Takes what is handed over while this window is open: of a folder that is open already VS Code opens no second one. As soon as
 * it is there, wherever the user is; and when the window comes to the front, where the system does not tell of files. */
export function watchHandedOver(storage: string, folder: () => string, take: (handed: Handed) => Promise<void>): vscode.Disposable {
  const look = (): void => {
    // VS Code brings a window to the front that has this folder alone, by this name; for all others it opens another one.
    if (vscode.workspace.workspaceFile !== undefined) return;
    const handed = takeHandedOver(storage, folder(), Date.now(), (there, here) => spelled(there) === spelled(here));
    if (handed !== undefined) void take(handed);
  };
  return vscode.Disposable.from(
    watchFile(storage, look),
    vscode.window.onDidChangeWindowState(({ focused }) => focused && look()),
  );
}

function watchFile(storage: string, look: () => void): { dispose(): void } {
  try {
    mkdirSync(storage, { recursive: true });
    const watcher = watch(storage, { persistent: false }, (_, name) => (name === null || name === FILE) && look());
    watcher.on("error", () => watcher.close());
    return { dispose: () => watcher.close() };
  } catch {
    return { dispose: () => undefined };
  }
}
