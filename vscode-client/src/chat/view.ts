/** The side bar's view (the second side bar's, if the user wants that): holds the chat's page, its name and its badge. */

import * as vscode from "vscode";

import { hasSecondSideBar, viewOf, VIEWS } from "./location";
import type { Panel } from "./panel";
import type { Session } from "./session";

export class ChatView implements vscode.WebviewViewProvider, vscode.Disposable {
  private view: vscode.WebviewView | undefined;
  private session: Session | undefined;
  private panel: Panel | undefined;
  private isOpening = false;
  private listeners: vscode.Disposable[] = [];

  /** `waiting`: how many questions wait, wherever. */
  constructor(private readonly waiting: () => number) {}

  hold(session: Session, panel: Panel): void {
    void vscode.commands.executeCommand("setContext", "north.hasSecondSideBar", hasSecondSideBar(vscode.version));
    this.session = session;
    this.panel = panel;
    this.listeners = [
      // The page stays as it is while another view is shown: its place, a selection, what is unfolded.
      ...Object.values(VIEWS).map((id) => vscode.window.registerWebviewViewProvider(id, this, { webviewOptions: { retainContextWhenHidden: true } })),
      session.onTitle(() => this.showState()),
      session.onState(() => this.showProgress()),
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

  /** A bar at the top of the view, which is there before the page is. */
  private showProgress(): void {
    const { session } = this;
    if (session === undefined || session.phase === "" || this.isOpening) return;
    this.isOpening = true;
    const opened = new Promise<void>((resolve) => {
      const listener = session.onState(() => {
        if (session.phase !== "") return;
        listener.dispose();
        this.isOpening = false;
        resolve();
      });
    });
    void vscode.window.withProgress({ location: { viewId: viewId() } }, () => opened);
  }

  async reveal(preserveFocus: boolean): Promise<void> {
    if (preserveFocus && this.view !== undefined) return this.view.show(true);
    await vscode.commands.executeCommand(`${viewId()}.focus`, { preserveFocus });
  }

  showState(): void {
    if (this.view === undefined) return;
    this.view.title = this.session?.title || vscode.l10n.t("Chat");
    const waiting = this.waiting();
    this.view.badge = waiting > 0 ? { value: waiting, tooltip: vscode.l10n.t("North waits for you") } : undefined;
  }
}

function viewId(): string {
  return viewOf(vscode.workspace.getConfiguration("north").get("chatLocation"), vscode.version);
}
