/** The commands about places in a conversation: in the palette, and in the context menu of a message. */

import * as vscode from "vscode";

import { registerAll, registrar } from "../common/registering";
import type { PromptAct } from "../messages";
import { choosePlace, fork, labelPlace } from "./branches";
import type { Conversation, Conversations } from "./conversations";

const { l10n } = vscode;

export function registerPromptCommands(conversations: Conversations, log: vscode.LogOutputChannel): vscode.Disposable {
  const onPrompt = (act: PromptAct, title: string) => async (context?: unknown) => {
    const conversation = conversations.active;
    const entry = entryOf(context) ?? (await choosePlace(conversation, title, "user-only"))?.id;
    if (entry === undefined) return;
    await shown(conversation, entry).panel.onPrompt(entry, act);
  };
  /** The one whose menu was used. */
  const shown = (active: Conversation, entry: string): Conversation =>
    [active, ...conversations.all].find(({ transcript }) => transcript.has(entry)) ?? active;
  const commands = {
    editPrompt: onPrompt("edit", l10n.t("North: Edit and Resend a Message")),
    rewind: onPrompt("rewind", l10n.t("North: Rewind to a Message")),
    branch: onPrompt("branch", l10n.t("North: Branch from a Message")),
    tree: async () => {
      const conversation = conversations.active;
      const node = await choosePlace(conversation, l10n.t("North: Conversation Tree"));
      if (node !== undefined && !node.isLeaf) await conversation.panel.onPrompt(node.id, "rewind");
    },
    labelPlace: () => labelPlace(conversations.active),
    fork: () => fork(conversations, conversations.active.session.id),
  };
  return registerAll(commands, registrar(log));
}

/** What the page says of the message under the pointer. */
function entryOf(context: unknown): string | undefined {
  if (typeof context !== "object" || context === null || !("northPrompt" in context)) return undefined;
  return typeof context.northPrompt === "string" ? context.northPrompt : undefined;
}
