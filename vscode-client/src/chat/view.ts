/** The side bar's view: holds the chat's page, its name and its badge. */

import * as vscode from "vscode";

import type { Panel } from "./panel";
import type { Session } from "./session";

export const VIEW = "north.chat";

export class ChatView implements vscode.WebviewViewProvider, vscode.Disposable {
  private view: vscode.WebviewView | undefined;
  private session: Session | undefined;
  private panel: Panel | undefined;
  private listeners: vscode.Disposable[] = [];

  /** `waiting`: how many questions wait, wherever. */
  constructor(private readonly waiting: () => number) {}

  hold(session: Session, panel: Panel): void {
    this.session = session;
    this.panel = panel;
    this.listeners = [
      // The page stays as it is while another view is shown: its place, a selection, what is unfolded.
      vscode.window.registerWebviewViewProvider(VIEW, this, { webviewOptions: { retainContextWhenHidden: true } }),
      session.onTitle(() => this.showState()),
    ];
  }

  dispose(): void {
    vscode.Disposable.from(...this.listeners).dispose();
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    const { webview } = view;
    view.onDidDispose(() => {
      if (this.view === view) this.view = undefined;
      this.panel?.empty(webview);
    });
    this.panel?.fill(webview);
    this.showState();
  }

  async reveal(preserveFocus: boolean): Promise<void> {
    if (preserveFocus && this.view !== undefined) return this.view.show(true);
    await vscode.commands.executeCommand(`${VIEW}.focus`);
  }

  showState(): void {
    if (this.view === undefined) return;
    this.view.title = this.session?.title || vscode.l10n.t("Chat");
    const waiting = this.waiting();
    this.view.badge = waiting > 0 ? { value: waiting, tooltip: vscode.l10n.t("North waits for you") } : undefined;
  }
}
