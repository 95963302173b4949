/** A conversation in a tab of the editors. VS Code brings the tab back after a reload, the page tells which one it was. */

import * as vscode from "vscode";

import type { Panel } from "./panel";
import type { Session } from "./session";

export class Tab implements vscode.Disposable {
  static readonly type = "north.tab";
  private held: { session: Session; panel: Panel } | undefined;
  private shown: vscode.WebviewPanel | undefined;

  constructor(
    private readonly extension: vscode.Uri,
    private readonly closed: () => void,
  ) {}

  hold(session: Session, panel: Panel): void {
    this.held = { session, panel };
    session.onTitle(() => this.showState());
    session.onState(() => this.showState());
  }

  dispose(): void {
    this.shown?.dispose();
  }

  get isShown(): boolean {
    return this.shown !== undefined;
  }

  /** Whether it would come up in front of what the user is at, and take away what they type there. */
  get wouldCover(): boolean {
    const { activeTabGroup } = vscode.window.tabGroups;
    if (this.shown?.visible === true || activeTabGroup.activeTab === undefined) return false;
    return (this.shown?.viewColumn ?? activeTabGroup.viewColumn) === activeTabGroup.viewColumn;
  }

  async reveal(preserveFocus: boolean): Promise<void> {
    if (this.shown !== undefined) return this.shown.reveal(undefined, preserveFocus);
    const place = { viewColumn: vscode.ViewColumn.Active, preserveFocus };
    this.show(vscode.window.createWebviewPanel(Tab.type, "North", place, { retainContextWhenHidden: true }));
  }

  /** In a new tab, or in one as VS Code has made it again. */
  show(shown: vscode.WebviewPanel): void {
    this.shown = shown;
    shown.iconPath = vscode.Uri.joinPath(this.extension, "media", "north.svg");
    const { webview } = shown;
    shown.onDidDispose(() => {
      this.shown = undefined;
      this.held?.panel.empty(webview);
      this.closed();
    });
    this.held?.panel.fill(webview);
    this.showState();
  }

  private showState(): void {
    if (this.shown === undefined || this.held === undefined) return;
    const { session } = this.held;
    const title = session.title || vscode.l10n.t("New Chat");
    this.shown.title = session.waiting ? `● ${title}` : title;
  }
}
