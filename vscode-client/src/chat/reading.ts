/** For those who read with a screen reader: the conversation and the keys of the chat as texts in an editor, at the keys of
 * VS Code's own accessible view and accessibility help, which extensions cannot add to. */

import * as vscode from "vscode";

import { closeTabs } from "../review/tabs";
import type { Conversations } from "./conversations";
import { readable } from "./readable";

const SCHEME = "north-reading";

export class Reading implements vscode.TextDocumentContentProvider, vscode.Disposable {
  /** As long as a document is open that shows them. */
  private readonly texts = new Map<string, string>();
  private readonly listeners: vscode.Disposable[];
  private made = 0;

  constructor(conversations: Conversations) {
    this.listeners = [
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.texts.delete(uri.toString())),
      vscode.commands.registerCommand("north.readConversation", () => {
        const { text, line } = readable(conversations.active.transcript.all());
        return this.show(vscode.l10n.t("Conversation"), text === "" ? vscode.l10n.t("Nothing was said yet.") : text, line);
      }),
      vscode.commands.registerCommand("north.accessibilityHelp", () => this.show(vscode.l10n.t("Accessibility Help"), helpText(), 0)),
    ];
    void closeTabs(() => false, SCHEME); // of an earlier window: their texts are not known any more
  }

  dispose(): void {
    vscode.Disposable.from(...this.listeners).dispose();
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.toString()) ?? "";
  }

  private async show(name: string, text: string, line: number): Promise<void> {
    this.made += 1;
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/North: ${name}`, query: String(this.made) });
    this.texts.set(uri.toString(), text);
    const place = new vscode.Position(line, 0);
    await vscode.window.showTextDocument(uri, { selection: new vscode.Range(place, place) });
  }
}

export function helpText(): string {
  const { t } = vscode.l10n;
  return [
    t("North's chat, by keyboard and for screen readers"),
    t("Tab and Shift+Tab move through the input, what goes with the message, what North asks, and the conversation. The conversation is one stop: the row that you were at last."),
    t("In the conversation the arrow keys, Home and End move from row to row; Tab goes to what is in the row."),
    t("In the input Enter sends and Shift+Enter makes a new line. While North works, Alt+Enter adds it to the running turn, and Escape stops the turn."),
    t("The up and down arrows at the ends of the text bring earlier messages back. / lists the commands, @ finds what can go with the message."),
    t("North's questions are above the input. Shift+Tab goes there from the input; none of their buttons gets the focus on its own."),
    t("In a proposal Ctrl+K Y and Ctrl+K N accept and reject the hunk at the cursor, Ctrl+K Shift+Y and Ctrl+K Shift+N the file; Alt+F5 goes to the next open hunk (Cmd instead of Ctrl on a Mac). F7 goes through the changes as text."),
    t("Alt+F2 in the chat shows the conversation as text. An answer is announced when it is whole, and so is a question."),
    t("The command palette has a command for everything: they begin with “North”."),
  ].join("\n\n");
}
