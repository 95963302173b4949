/** What the next request has, part by part, as a read-only document, which VS Code's preview of Markdown draws. */

import * as vscode from "vscode";

import type { Session } from "./session";

const SCHEME = "north-context";

/** Sizes, rules and context files, and why some of them do not count. Shown again, it is the newest. */
export class ContextPage implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  private readonly registered = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
  private text = "";
  readonly onDidChange = this.changed.event;

  dispose(): void {
    vscode.Disposable.from(this.registered, this.changed).dispose();
  }

  provideTextDocumentContent(): string {
    return this.text;
  }

  async show(session: Session): Promise<void> {
    const { markdown } = await session.ask<{ markdown: string }>("_north/context", {});
    const title = vscode.l10n.t("What the Model Is Told");
    const address = vscode.Uri.from({ scheme: SCHEME, path: `/${title}.md` });
    this.text = `# ${title}\n\n${markdown}\n`;
    this.changed.fire(address);
    await vscode.commands.executeCommand("markdown.showPreview", address);
  }
}
