/** The tree of a conversation as a list to choose from, its labels, and copies. */

import * as vscode from "vscode";

import type { TreeNode } from "../acp";
import { ago } from "./stored";
import type { Conversation, Conversations } from "./conversations";
import { sessionFolders } from "./sessionFolders";

const { l10n } = vscode;

const FILTERS = ["default", "no-tools", "user-only", "labeled-only", "all"] as const;
type Filter = (typeof FILTERS)[number];

interface Row extends vscode.QuickPickItem {
  node: TreeNode;
}

/** Chooses a place of the conversation; the button shows more or less of it. Undefined if none is chosen. */
export function choosePlace(conversation: Conversation, title: string, filter: Filter = "default"): Promise<TreeNode | undefined> {
  const list = vscode.window.createQuickPick<Row>();
  const button = { iconPath: new vscode.ThemeIcon("filter"), tooltip: l10n.t("Show more or less of it") };
  let shown: Filter = filter;
  list.title = title;
  list.matchOnDescription = true;
  list.buttons = [button];
  const fill = async (): Promise<void> => {
    list.busy = true;
    const { nodes } = await conversation.session.ask<{ nodes: TreeNode[] }>("_north/sessions/tree", { filter: shown });
    list.placeholder = nodes.length === 0 ? l10n.t("There is nothing to go to") : filterName(shown);
    list.items = nodes.map((node) => rowOf(node, new Date()));
    list.activeItems = list.items.filter(({ node }) => node.isLeaf);
    list.busy = false;
  };
  return new Promise((resolve, reject) => {
    const refill = (): void => void fill().catch((error: unknown) => (reject(error), list.hide()));
    list.onDidTriggerButton(() => {
      shown = FILTERS[(FILTERS.indexOf(shown) + 1) % FILTERS.length] ?? "default";
      refill();
    });
    list.onDidAccept(() => {
      resolve(list.selectedItems[0]?.node);
      list.hide();
    });
    list.onDidHide(() => {
      resolve(undefined);
      list.dispose();
    });
    list.show();
    refill();
  });
}

/** Names the last place of the conversation, or takes its name away. */
export async function labelPlace({ session }: Conversation): Promise<void> {
  const prompt = l10n.t("The label of this entry in the conversation; an empty one removes it");
  const label = await vscode.window.showInputBox({ title: l10n.t("North: Label This Entry"), prompt });
  if (label !== undefined) await session.ask("_north/sessions/label", { label: label.trim() });
}

/** A copy of a conversation, also of one that is not open, in a tab. */
export async function fork(conversations: Conversations, id: string): Promise<void> {
  const copy = await conversations.request<{ sessionId: string }>("session/fork", { sessionId: id, ...sessionFolders() });
  await conversations.openTab(copy.sessionId);
}

export function rowOf(node: TreeNode, now: Date): Row {
  const indent = "\u2003".repeat(node.depth);
  const mark = node.isLeaf ? "$(arrow-right)" : node.onPath ? "$(circle-small-filled)" : "$(circle-small)";
  const who = node.role === "user" ? `${l10n.t("You")}: ` : "";
  const label = node.label === undefined ? "" : ` $(tag) ${plain(node.label)}`;
  const when = node.timestamp === "" ? "" : ago(new Date(node.timestamp), now);
  return { label: `${indent}${mark} ${who}${plain(node.text)}${label}`, description: when, node };
}

/** What people wrote is not to be taken for an icon. */
function plain(text: string): string {
  return text.replaceAll("$(", "$\u200b(");
}

function filterName(filter: Filter): string {
  switch (filter) {
    case "default":
      return l10n.t("Messages and tool calls");
    case "no-tools":
      return l10n.t("Messages without tool calls");
    case "user-only":
      return l10n.t("Your messages");
    case "labeled-only":
      return l10n.t("Labeled entries");
    case "all":
      return l10n.t("Everything");
  }
}
