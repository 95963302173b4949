/** The stored conversations: found by what was said in them, gone on with, renamed, archived, deleted. */

import * as vscode from "vscode";

import type { SessionList } from "../acp";
import { reason } from "../common/logger";
import { showError, showWarning } from "../common/notices";
import { isSameFolder } from "../common/sameFolder";
import { mainFolder } from "../common/settings";
import { fork } from "./branches";
import type { Conversation, Conversations } from "./conversations";
import { exportConversation } from "./exporting";
import { importLog } from "./importing";
import { Library, type Row } from "./library";
import { askForFolder, askWhere } from "./otherFolder";
import type { StoredConversation } from "./stored";
import { restoreDeleted } from "./trash";

interface Act {
  icon: string;
  name: string;
  run: (conversations: Conversations, stored: StoredConversation) => Promise<unknown>;
}

/** What can be done with a conversation besides going on with it. */
function actsOf({ archived }: StoredConversation): Act[] {
  const { t } = vscode.l10n;
  return [
    { icon: "split-horizontal", name: t("Open in an Editor Tab"), run: openInTab },
    { icon: "repo-forked", name: t("Fork"), run: (conversations, one) => fork(conversations, one.id) },
    { icon: "edit", name: t("Rename"), run: renameStored },
    { icon: "save-as", name: t("Export…"), run: (conversations, one) => exportConversation(conversations, one.id) },
    archived
      ? { icon: "inbox", name: t("Unarchive"), run: (conversations, one) => archiveStored(conversations, one, false) }
      : { icon: "archive", name: t("Archive"), run: (conversations, one) => archiveStored(conversations, one, true) },
    { icon: "trash", name: t("Delete"), run: deleteStored },
  ];
}

/** The list of conversations; the one that is chosen is gone on with. */
export async function browse(conversations: Conversations, value = ""): Promise<void> {
  await choose(conversations, vscode.l10n.t("North: Conversations"), value, (stored) => goOn(conversations, stored));
}

/** The same for those who use no mouse: what is done with the chosen one is asked. */
export async function manage(conversations: Conversations): Promise<void> {
  await choose(conversations, vscode.l10n.t("North: Manage Conversations"), "", async (stored) => {
    const acts = [{ icon: "comment", name: vscode.l10n.t("Continue It"), run: goOn }, ...actsOf(stored)];
    const rows = acts.map((act) => ({ label: `$(${act.icon}) ${act.name}`, act }));
    const chosen = await vscode.window.showQuickPick(rows, { title: stored.title });
    await chosen?.act.run(conversations, stored);
  });
}

/** What a key does with the chosen row of the list that is shown: F2 renames, Delete deletes while nothing is typed. */
const keys = new Map<string, () => void>();

export const renameListed = (): void => keys.get("rename")?.();
export const deleteListed = (): void => keys.get("delete")?.();

function keysOf(list: vscode.QuickPick<Row>, run: (row: Row, act: Act["run"]) => void): vscode.Disposable {
  const setContext = (value: string): void => void vscode.commands.executeCommand("setContext", "north.conversationList", value);
  const on = (act: Act["run"]) => (): void => {
    const [row] = list.activeItems;
    if (row === undefined) return;
    list.hide(); // what is asked next takes its place
    run(row, act);
  };
  const own = on(renameStored);
  keys.set("rename", own);
  keys.set("delete", on(deleteStored));
  setContext(list.value === "" ? "all" : "searched");
  const typed = list.onDidChangeValue((value) => setContext(value === "" ? "all" : "searched"));
  return new vscode.Disposable(() => {
    typed.dispose();
    if (keys.get("rename") !== own) return; // another list is shown by now
    keys.clear();
    setContext("");
  });
}

async function choose(conversations: Conversations, title: string, value: string, take: (stored: StoredConversation) => Promise<unknown>): Promise<void> {
  const buttons = new Map<vscode.QuickInputButton, Act>();
  const source = { ask: (method: string, params: object) => conversations.request<SessionList>(method, params), places: () => places(conversations) };
  const buttonsOf = (stored: StoredConversation): vscode.QuickInputButton[] =>
    actsOf(stored).map((act) => {
      const button = { iconPath: new vscode.ThemeIcon(act.icon), tooltip: act.name };
      buttons.set(button, act);
      return button;
    });
  const library = new Library(source, buttonsOf, title, () => void attempt(() => restore(conversations)));
  const { list } = library;
  const attempt = async (act: () => Promise<unknown>): Promise<void> => {
    try {
      await act();
    } catch (error) {
      void showError(`North: ${reason(error)}`);
    }
  };
  list.onDidAccept(() => {
    const [chosen] = list.selectedItems;
    list.hide();
    if (chosen !== undefined) void attempt(() => take(chosen.stored));
  });
  list.onDidTriggerItemButton(({ item, button }) => {
    const act = buttons.get(button);
    if (act === undefined) return;
    list.hide(); // what is asked next takes its place
    void attempt(() => act.run(conversations, item.stored));
  });
  const byKey = keysOf(list, (row, act) => void attempt(() => act(conversations, row.stored)));
  list.onDidHide(() => byKey.dispose());
  list.value = value;
  list.show();
  await library.fill().catch((error: unknown) => {
    list.hide();
    throw error;
  });
}

/** A conversation that was asked for by its id, or a new one, with a command that is still to be answered. */
export async function showWanted(conversations: Conversations, id: string | null, folder: string): Promise<void> {
  await conversations.main.session.answeredCommand();
  if (id === null) return conversations.main.session.renew();
  await goOn(conversations, { id, title: "", facts: "", snippet: "", folder, isHere: isOpenHere(folder), archived: false }, true);
}

/** In the side bar; a turn that runs there is stopped, if the user agrees. `isAgreed`: if it is about another folder, the
 * user has said already that it goes on there. */
async function goOn(conversations: Conversations, stored: StoredConversation, isAgreed = false): Promise<void> {
  const { id } = stored;
  const open = conversations.find(id);
  if (open !== undefined) return open.panel.show(false);
  const place = await placeOf(conversations, stored, isAgreed);
  if (place === "elsewhere") return;
  const { session, panel } = conversations.main;
  if (session.busy) {
    const detail = vscode.l10n.t("A turn runs in the conversation that is shown. It is stopped when another one takes its place.");
    const [tab, stop] = [vscode.l10n.t("Open in an Editor Tab"), vscode.l10n.t("Stop the Turn")];
    const chosen = await showWarning(vscode.l10n.t("Show the other conversation here?"), { modal: true, detail }, tab, stop);
    if (chosen === tab) return conversations.openTab(id, undefined, place === "agreed");
    if (chosen !== stop) return;
  }
  await panel.show(false);
  await session.renew(id, place === "agreed");
}

function isOpenHere(folder: string): boolean {
  return folder === "" || isSameFolder(folder, mainFolder()?.uri.fsPath ?? "");
}

/** Where it goes on: here; here, since the user has said so (`agreed`); or `elsewhere`: there already, in a copy, or not at all. */
async function placeOf(conversations: Conversations, { id, folder, isHere }: StoredConversation, isAgreed: boolean): Promise<"here" | "agreed" | "elsewhere"> {
  if (isHere) return "here";
  if (!(await isThere(folder))) return isAgreed ? "here" : placeOfGone(conversations, id, folder); // the server asks where nobody has
  const where = isAgreed ? "own" : await askWhere(folder);
  if (where === "fork") await fork(conversations, id);
  else if (where === "own") await conversations.openThere(folder, id);
  return "elsewhere";
}

async function isThere(folder: string): Promise<boolean> {
  return vscode.workspace.fs.stat(vscode.Uri.file(folder)).then(() => true, () => false);
}

/** The same for one whose folder is gone: the user says where that is now. */
async function placeOfGone(conversations: Conversations, id: string, gone: string): Promise<"agreed" | "elsewhere"> {
  const here = mainFolder()?.uri.fsPath ?? "";
  const folder = await askForFolder(gone, here);
  if (folder === here) return "agreed";
  if (folder !== undefined) await conversations.openThere(folder, id, true);
  return "elsewhere";
}

/** A log from anywhere becomes a conversation, which is gone on with. */
export async function importConversation(conversations: Conversations): Promise<void> {
  const client = await conversations.main.session.open();
  const imported = await importLog((method, params) => client.sendRequest(method, params));
  if (imported !== undefined) await goOn(conversations, { id: imported, title: "", facts: "", snippet: "", folder: "", isHere: true, archived: false });
}

/** One of the deleted conversations comes back, and is gone on with. */
export async function restore(conversations: Conversations): Promise<void> {
  const row = await restoreDeleted((method, params) => conversations.request(method, params));
  if (row === undefined) return;
  const folder = row.cwd ?? "";
  await goOn(conversations, { id: row.sessionId, title: row.name ?? "", facts: "", snippet: "", folder, isHere: isOpenHere(folder), archived: row.archived === true });
}

async function openInTab(conversations: Conversations, stored: StoredConversation): Promise<void> {
  const { id } = stored;
  const open = conversations.find(id);
  if (open === undefined) {
    const place = await placeOf(conversations, stored, false);
    return place === "elsewhere" ? undefined : conversations.openTab(id, undefined, place === "agreed");
  }
  if (!conversations.isInView(open)) return open.panel.show(false);
  if (open.session.busy) throw new Error(vscode.l10n.t("A turn runs in it. It can move to an editor tab when the turn has ended."));
  await open.session.renew();
  await conversations.openTab(id);
}

async function renameStored(conversations: Conversations, { id, title }: StoredConversation): Promise<void> {
  const name = await vscode.window.showInputBox({ title: vscode.l10n.t("North: Rename a Conversation"), value: title, prompt: vscode.l10n.t("Its new name") });
  if (name === undefined || name.trim() === "" || name.trim() === title) return;
  await conversations.request("_north/sessions/rename", { sessionId: id, title: name.trim() });
  await browse(conversations);
}

async function archiveStored(conversations: Conversations, { id, title }: StoredConversation, archived: boolean): Promise<void> {
  await conversations.request("_north/sessions/archive", { sessionId: id, archived });
  const words = archived ? vscode.l10n.t("“{0}” is archived: lists and searches leave it out.", title) : vscode.l10n.t("“{0}” is in the lists again.", title);
  void vscode.window.setStatusBarMessage(words, 5000);
  await browse(conversations);
}

async function deleteStored(conversations: Conversations, { id, title }: StoredConversation): Promise<void> {
  const yes = vscode.l10n.t("Delete");
  const detail = vscode.l10n.t("It stays in North's trash for 30 days. Files that it has changed are kept.");
  if ((await showWarning(vscode.l10n.t("Delete “{0}”?", title), { modal: true, detail }, yes)) !== yes) return;
  const open = conversations.find(id);
  if (open !== undefined) await conversations.close(open);
  await conversations.request("session/delete", { sessionId: id });
  await browse(conversations);
}

/** Where those are that are open, in words. */
function places(conversations: Conversations): ReadonlyMap<string, string> {
  const words = (one: Conversation): string =>
    one.session.waiting ? vscode.l10n.t("waits for you") : one.session.busy ? vscode.l10n.t("working") : conversations.isInView(one) ? vscode.l10n.t("in the side bar") : vscode.l10n.t("in an editor tab");
  return new Map(conversations.all.filter((one) => one.session.id !== "").map((one) => [one.session.id, words(one)]));
}
