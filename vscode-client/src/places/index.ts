/** Where North can be reached in VS Code beside its own view: menus, light bulb, terminals, VS Code's chat. */

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import type { Panel } from "../chat/panel";
import { type Session, where } from "../chat/session";
import { reason } from "../common/logger";
import type { Server } from "../common/server";
import { registerActions } from "./actions";
import { Aside } from "./aside";
import type { Chat } from "./chat";
import { registerCommits } from "./commits";
import { askInline } from "./inline";
import { offerLanguageFeatures } from "./language";
import { registerMenus } from "./menus";
import { registerParticipant } from "./participant";
import { Terminals } from "./terminals";
import { registerTools } from "./tools";

interface Parts {
  extension: vscode.Uri;
  server: Server;
  session: Session;
  panel: Panel;
  log: vscode.LogOutputChannel;
}

export class Places implements vscode.Disposable {
  private readonly aside: Aside;
  private readonly terminals = new Terminals();
  private readonly registered: vscode.Disposable;

  constructor(parts: Parts) {
    const { extension, server, session, panel, log } = parts;
    this.aside = new Aside(() => server.connect(), where);
    const chat: Chat = {
      attach: (attachment) => panel.attach(attachment),
      async ask(text, attachments) {
        await panel.show(true);
        await session.send(text, attachments[0]);
      },
    };
    const register = (name: string, run: (...args: unknown[]) => unknown): vscode.Disposable =>
      vscode.commands.registerCommand(`north.${name}`, async (...args: unknown[]) => {
        try {
          await run(...args);
        } catch (error) {
          log.error(`north.${name}: ${reason(error)}`);
          void vscode.window.showErrorMessage(`North: ${reason(error)}`);
        }
      });
    this.registered = vscode.Disposable.from(
      this.terminals,
      session.onElsewhere((params) => this.aside.take(params)),
      registerActions(chat, register),
      registerMenus(chat, register),
      registerCommits(chat, (text, { block }, token) => this.aside.once([{ type: "text", text }, block], token), register),
      register("inlineChat", () => askInline(chat)),
      register("showTerminal", () => this.terminals.show()),
      registerParticipant(this.aside, vscode.Uri.joinPath(extension, "media", "north.svg")),
      registerTools((method, params) => session.ask(method, params)),
    );
  }

  dispose(): void {
    this.registered.dispose();
  }

  /** Answers what a client's server asks of the editor, before it starts. `knows` are the chat's own conversations. */
  listen(client: LanguageClient, knows: (sessionId: string) => boolean): void {
    this.terminals.listen(client, (id) => knows(id) || this.aside.mayAsk(id));
    offerLanguageFeatures(client);
  }

  /** Whether the user may be asked about a conversation that is not the chat's. */
  mayAsk(sessionId: string): boolean {
    return this.aside.mayAsk(sessionId);
  }
}
