/** The end of the server's own log, and what North keeps on the disk; both as the server tells them. */

import * as vscode from "vscode";

import type { KeptArea, KeptData, LogEnd } from "../acp";
import type { Session } from "../chat/session";
import { sizeOf } from "./sizes";

const SCHEME = "north-log";
const LINES = 2000;

/** The server's log, read-only. Shown again, it is the newest. */
export class ServerLog implements vscode.TextDocumentContentProvider, vscode.Disposable {
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
    const title = vscode.l10n.t("North: Show the Server's Log");
    const chosen = await vscode.window.showQuickPick(levels(), { title, placeHolder: vscode.l10n.t("What to show of it") });
    if (chosen === undefined) return;
    const { path, lines } = await session.ask<LogEnd>("_north/log/get", { lines: LINES, level: chosen.level });
    this.text = [path, "", ...lines, ""].join("\n");
    const address = vscode.Uri.from({ scheme: SCHEME, path: "/north.log" });
    this.changed.fire(address);
    const document = await vscode.workspace.openTextDocument(address);
    const editor = await vscode.window.showTextDocument(document, { preview: true });
    const end = document.lineAt(document.lineCount - 1).range.end;
    editor.revealRange(new vscode.Range(end, end));
  }
}

function levels(): (vscode.QuickPickItem & { level: string })[] {
  return [
    { level: "debug", label: vscode.l10n.t("Everything") },
    { level: "warn", label: vscode.l10n.t("Warnings and errors") },
    { level: "error", label: vscode.l10n.t("Errors") },
  ];
}

/** Lists what is kept, by area, with what frees it; from here, what North can do without is removed. */
export async function showStorage(session: Session): Promise<void> {
  const { areas, data } = await session.ask<KeptData>("_north/storage/get", {});
  const total = areas.reduce((sum, area) => sum + area.size, 0);
  const clean = { label: vscode.l10n.t("$(trash) Remove what North can do without…"), detail: vscode.l10n.t("The trash, caches, logs and files that could not be read. North asks first.") };
  const rows = areas.map((area) => ({ label: nameOf(area), description: sizeOf(area.size), detail: vscode.l10n.t("Freed by: {0}", area.freedBy.replaceAll("`", "")) }));
  const title = vscode.l10n.t("North: {0} on This Machine", sizeOf(total));
  const chosen = await vscode.window.showQuickPick<vscode.QuickPickItem>([clean, { label: data, kind: vscode.QuickPickItemKind.Separator }, ...rows], { title });
  if (chosen === clean) await session.send("/storage clean");
}

/** A newer server may have areas that are not known here. */
function nameOf({ id, title }: KeptArea): string {
  const names: Record<string, string> = {
    conversations: vscode.l10n.t("Conversations"),
    outputs: vscode.l10n.t("Full outputs of commands"),
    contents: vscode.l10n.t("Pictures, and files before edits"),
    trash: vscode.l10n.t("Deleted conversations"),
    projects: vscode.l10n.t("Approvals and jobs of projects"),
    keys: vscode.l10n.t("Stored keys"),
    databases: vscode.l10n.t("History and memory"),
    caches: vscode.l10n.t("Caches"),
    log: vscode.l10n.t("Log files"),
    crashes: vscode.l10n.t("Reports of crashes"),
    aside: vscode.l10n.t("Files that could not be read"),
  };
  return names[id] ?? title;
}
