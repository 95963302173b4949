/** The stored conversations of the folder: found by a word of their title, gone on with, renamed, deleted. */

import * as vscode from "vscode";

import type { SessionList, SessionRow } from "../acp";
import { reason } from "../common/logger";
import { mainFolder } from "../common/settings";
import { fork } from "./branches";
import type { Conversation, Conversations } from "./conversations";
import { type StoredConversation, storedConversations } from "./stored";
import { sessionFolders } from "./sessionFolders";

interface Row extends vscode.QuickPickItem {
  stored: StoredConversation;
}

type Act = (list: vscode.QuickPick<Row>, stored: StoredConversation) => Promise<unknown>;

const MOST = 500;

export async function browse(conversations: Conversations): Promise<void> {
  const inTab = { iconPath: new vscode.ThemeIcon("split-horizontal"), tooltip: vscode.l10n.t("Open in an Editor Tab") };
  const copy = { iconPath: new vscode.ThemeIcon("repo-forked"), tooltip: vscode.l10n.t("Fork") };
  const rename = { iconPath: new vscode.ThemeIcon("edit"), tooltip: vscode.l10n.t("Rename") };
  const remove = { iconPath: new vscode.ThemeIcon("trash"), tooltip: vscode.l10n.t("Delete") };
  const list = vscode.window.createQuickPick<Row>();
  list.title = vscode.l10n.t("North: Conversations");
  list.placeholder = vscode.l10n.t("Go on with a conversation of this folder");
  list.matchOnDescription = true;
  list.onDidHide(() => list.dispose());
  const fill = async (): Promise<void> => {
    list.busy = true;
    const rows = storedConversations(await stored(conversations), places(conversations), new Date());
    list.items = rows.map((one) => ({ label: one.title, description: one.when, buttons: [inTab, copy, rename, remove], stored: one }));
    list.busy = false;
    if (rows.length === 0) list.placeholder = vscode.l10n.t("There is no conversation of this folder yet");
  };
  const attempt = async (act: Act, one: StoredConversation): Promise<void> => {
    try {
      await act(list, one);
    } catch (error) {
      void vscode.window.showErrorMessage(`North: ${reason(error)}`);
    }
  };
  list.onDidAccept(() => {
    const [chosen] = list.selectedItems;
    list.hide();
    if (chosen !== undefined) void attempt(() => goOn(conversations, chosen.stored.id), chosen.stored);
  });
  list.onDidTriggerItemButton(({ item, button }) => {
    const acts = new Map<vscode.QuickInputButton, Act>([
      [inTab, () => openInTab(conversations, item.stored.id)],
      [copy, () => fork(conversations, item.stored.id)],
      [rename, () => renameStored(conversations, item.stored)],
      [remove, () => deleteStored(conversations, item.stored)],
    ]);
    const act = acts.get(button);
    if (act === undefined) return;
    list.hide(); // what is asked next takes its place
    void attempt(act, item.stored);
  });
  list.show();
  await fill().catch((error: unknown) => {
    list.hide();
    throw error;
  });
}

/** In the side bar; a turn that runs there is stopped, if the user agrees. */
async function goOn(conversations: Conversations, id: string): Promise<void> {
  const open = conversations.find(id);
  if (open !== undefined) return open.panel.show(false);
  const { session, panel } = conversations.main;
  if (session.busy) {
    const detail = vscode.l10n.t("A turn runs in the conversation that is shown. It is stopped when another one takes its place.");
    const [tab, stop] = [vscode.l10n.t("Open in a Tab"), vscode.l10n.t("Stop the Turn")];
    const chosen = await vscode.window.showWarningMessage(vscode.l10n.t("Show the other conversation here?"), { modal: true, detail }, tab, stop);
    if (chosen === tab) return conversations.openTab(id);
    if (chosen !== stop) return;
  }
  await panel.show(false);
  await session.renew(id);
}

async function openInTab(conversations: Conversations, id: string): Promise<void> {
  const open = conversations.find(id);
  if (open === undefined) return conversations.openTab(id);
  if (!conversations.isInView(open)) return open.panel.show(false);
  if (open.session.busy) throw new Error(vscode.l10n.t("A turn runs in it. It can move to a tab when the turn has ended."));
  await open.session.renew();
  await conversations.openTab(id);
}

async function renameStored(conversations: Conversations, { id, title }: StoredConversation): Promise<void> {
  const name = await vscode.window.showInputBox({ title: vscode.l10n.t("North: Rename a Conversation"), value: title, prompt: vscode.l10n.t("Its new name") });
  if (name === undefined || name.trim() === "" || name.trim() === title) return;
  await withOpen(conversations, id, (ask) => ask("_north/sessions/rename", { title: name.trim() }));
  await browse(conversations);
}

async function deleteStored(conversations: Conversations, { id, title }: StoredConversation): Promise<void> {
  const yes = vscode.l10n.t("Delete");
  const detail = vscode.l10n.t("It stays in North's trash for 30 days. Files that it has changed stay as they are.");
  if ((await vscode.window.showWarningMessage(vscode.l10n.t("Delete “{0}”?", title), { modal: true, detail }, yes)) !== yes) return;
  const open = conversations.find(id);
  if (open !== undefined) await conversations.close(open);
  const client = await conversations.main.session.open();
  await client.sendRequest("session/delete", { sessionId: id });
  await browse(conversations);
}

/** One that is not open is opened for the request alone. */
async function withOpen(
  conversations: Conversations,
  id: string,
  act: (ask: (method: string, params: object) => Promise<unknown>) => Promise<unknown>,
): Promise<void> {
  const client = await conversations.main.session.open();
  const ask = (method: string, params: object): Promise<unknown> => client.sendRequest(method, { sessionId: id, ...params });
  if (conversations.find(id) !== undefined) return void (await act(ask));
  await ask("session/resume", sessionFolders());
  try {
    await act(ask);
  } finally {
    await ask("session/close", {});
  }
}

async function stored(conversations: Conversations): Promise<SessionRow[]> {
  const client = await conversations.main.session.open();
  const rows: SessionRow[] = [];
  let cursor: string | undefined;
  do {
    const page: SessionList = await client.sendRequest<SessionList>("session/list", { cwd: mainFolder()?.uri.fsPath, ...(cursor ? { cursor } : {}) });
    rows.push(...page.sessions);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined && rows.length < MOST);
  return rows;
}

/** Where those are that are open, in words. */
function places(conversations: Conversations): ReadonlyMap<string, string> {
  const words = (one: Conversation): string =>
    one.session.waiting ? vscode.l10n.t("waits for you") : one.session.busy ? vscode.l10n.t("working") : conversations.isInView(one) ? vscode.l10n.t("in the side bar") : vscode.l10n.t("in a tab");
  return new Map(conversations.all.filter((one) => one.session.id !== "").map((one) => [one.session.id, words(one)]));
}
