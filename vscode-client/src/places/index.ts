/** Where North can be reached in VS Code beside its own view: menus, light bulb, terminals, VS Code's chat. */

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import type { Conversations } from "../chat/conversations";
import type { Session } from "../chat/session";
import type { Transcript } from "../chat/transcript";
import { sessionFolders } from "../chat/sessionFolders";
import type { Worker } from "../common/idle";
import { reason } from "../common/logger";
import { showInfo } from "../common/notices";
import { registrar } from "../common/registering";
import type { Server } from "../common/server";
import type { Attachment } from "../composer/chips";
import type { Questions } from "../review/questions";
import { registerActions } from "./actions";
import { SideConversations } from "./sideConversations";
import { Suggestions } from "./suggestions";
import type { Chat } from "./chat";
import { registerCommits } from "./commits";
import { InlineChat } from "./inline";
import type { HiddenDocuments } from "./hiddenDocuments";
import { LanguageFeatures } from "./language";
import { registerMenus } from "./menus";
import { registerParticipant } from "./participant";
import { Terminals } from "./terminals";
import { registerTools } from "./tools";

interface Parts {
  extension: vscode.Uri;
  server: Server;
  hidden: HiddenDocuments;
  conversations: Conversations;
  questions: Questions;
  log: vscode.LogOutputChannel;
}

export class Places implements vscode.Disposable {
  private readonly sideConversations: SideConversations;
  private readonly terminals = new Terminals();
  private readonly language: LanguageFeatures;
  private readonly registered: vscode.Disposable;

  constructor(private readonly parts: Parts) {
    const { extension, server, conversations, log } = parts;
    this.language = new LanguageFeatures(parts.hidden);
    this.sideConversations = new SideConversations(() => server.connect(), sessionFolders, (id) => parts.questions.cancelAll(id));
    const ask = async (text: string, attachments: Attachment[]): Promise<void> => {
      const { panel, session } = conversations.active;
      await panel.show(true);
      await session.send(text, attachments);
    };
    const chat: Chat = {
      attach: (attachment) => conversations.active.panel.attach(attachment),
      async attachShown() {
        const { panel } = conversations.active;
        await panel.composer.attachShown();
        await panel.show(false);
      },
      ask,
      async edit(text, attachments) {
        if (await mayEdit(conversations.active.session)) await ask(text, attachments);
      },
    };
    const inline = new InlineChat(chat);
    const register = registrar(log);
    this.registered = vscode.Disposable.from(
      inline,
      this.terminals,
      this.language,
      conversations.onElsewhere((params) => this.sideConversations.take(params)),
      registerActions(chat, register),
      registerMenus(chat, register),
      registerCommits(chat, (text, { block }, token, waits) => this.sideConversations.askOnce([{ type: "text", text }, block], token, waits), register),
      register("inlineChat", () => inline.ask()),
      register("inlineSend", (reply) => inline.reply(reply)),
      register("inlineClose", () => inline.cancel()),
      register("showTerminal", () => this.terminals.show()),
      new Suggestions({ running: () => server.running, open: () => conversations.active.session.open(), log }, register),
      optional(log, () => registerParticipant(this.sideConversations, vscode.Uri.joinPath(extension, "media", "north.svg"))),
      optional(log, () => registerTools((method, params) => conversations.active.session.ask(method, params))),
    );
  }

  dispose(): void {
    this.registered.dispose();
  }

  /** Answers what a client's server asks of the editor, before it starts. */
  listen(client: LanguageClient): void {
    const { conversations } = this.parts;
    this.terminals.listen(client, (id) => conversations.find(id) !== undefined || this.sideConversations.mayAsk(id));
    this.language.listen(client);
  }

  /** What is at work beside North's own chats. */
  get aside(): Worker {
    return this.sideConversations;
  }

  /** Where what a conversation of VS Code's chat asks is shown; nothing for one that may not ask. */
  transcriptOf(sessionId: string): Transcript | undefined {
    return this.sideConversations.mayAsk(sessionId) ? this.parts.conversations.main.transcript : undefined;
  }
}

/** What VS Code's chat offers; an editor that is made of VS Code may have it in name only. */
function optional(log: vscode.LogOutputChannel, register: () => vscode.Disposable): vscode.Disposable {
  try {
    return register();
  } catch (error) {
    log.warn(`VS Code's chat: ${reason(error)}`);
    return new vscode.Disposable(() => {});
  }
}

/** In a mode that only reads, an edit would be refused in the end: the user says first what is meant. */
async function mayEdit(session: Session): Promise<boolean> {
  await session.open();
  if (session.modeId !== "ask") return true;
  const change = vscode.l10n.t("Switch to Agent");
  const anyway = vscode.l10n.t("Ask Anyway");
  const text = vscode.l10n.t("North is in Ask mode, in which it only reads.");
  const chosen = await showInfo(text, change, anyway);
  if (chosen === change) await session.setMode("agent");
  return chosen !== undefined;
}
