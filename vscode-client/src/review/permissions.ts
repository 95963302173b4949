/** What runs or is written without a question: always in view while there is anything, and taken back with a click. */

import * as vscode from "vscode";

import type { Permission } from "../acp";
import type { Session } from "../chat/session";
import { showInfo } from "../common/notices";

const BROAD = ["all edits", "all commands"];

export class Permissions implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("north.permissions", vscode.StatusBarAlignment.Right, 89);
  private readonly listener: vscode.Disposable;

  constructor(private readonly session: Session) {
    this.item.name = vscode.l10n.t("North: what is allowed");
    this.item.command = "north.showPermissions";
    this.listener = session.onPermissions((rows) => this.show(rows));
  }

  dispose(): void {
    vscode.Disposable.from(this.item, this.listener).dispose();
  }

  /** Lists them; the one that is chosen is taken back. */
  async choose(session = this.session): Promise<void> {
    await session.askPermissions();
    const rows = session.permissions;
    if (rows.length === 0) {
      void showInfo(vscode.l10n.t("North: nothing is allowed without asking here."));
      return;
    }
    const items = rows.map((row) => ({
      label: `$(close) ${row.allows}`,
      description: row.origin === "session" ? vscode.l10n.t("for this conversation") : vscode.l10n.t("in this folder"),
      detail: row.since === undefined ? "" : vscode.l10n.t("since {0}", new Date(row.since).toLocaleString()),
      row,
    }));
    const title = vscode.l10n.t("North: Allowed Without Asking");
    const chosen = await vscode.window.showQuickPick(items, { title, placeHolder: vscode.l10n.t("The one to revoke") });
    if (chosen === undefined) return;
    await session.ask("_north/permissions/revoke", { id: chosen.row.id });
    await session.askPermissions();
  }

  private show(rows: Permission[]): void {
    if (rows.length === 0) return this.item.hide();
    const broad = rows.filter((row) => BROAD.includes(row.allows));
    this.item.text = `$(shield) ${permittedSummary(rows)}`;
    this.item.backgroundColor = broad.length > 0 ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
    this.item.tooltip = vscode.l10n.t("Without asking: {0}. Click to revoke it.", rows.map((row) => row.allows).join("; "));
    this.item.accessibilityInformation = { label: `North, ${this.item.text}`, role: "button" };
    this.item.show();
  }
}

/** In a few words; nothing for nothing. */
export function permittedSummary(rows: Permission[]): string {
  const broad = BROAD.filter((allows) => rows.some((row) => row.allows === allows));
  if (broad.length === 2) return vscode.l10n.t("all edits and all commands without asking");
  if (broad.length === 1) return broad[0] === "all edits" ? vscode.l10n.t("all edits without asking") : vscode.l10n.t("all commands without asking");
  return rows.length === 0 ? "" : vscode.l10n.t("{0} allowed without asking", rows.length);
}
