/** What the next request has, part by part, as a read-only document. */

import * as vscode from "vscode";

import type { Session } from "./session";

const ADDRESS = vscode.Uri.from({ scheme: "north-context", path: "/context.md" });

/** Sizes, rules and context files, and why some of them do not count. Shown again, it is the newest. */
export class ContextPage implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  private readonly registered = vscode.workspace.registerTextDocumentContentProvider(ADDRESS.scheme, this);
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
    this.text = `# ${vscode.l10n.t("What the Model Is Told")}\n\n${markdown}\n`;
    this.changed.fire(ADDRESS);
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(ADDRESS), { preview: true });
  }
}
