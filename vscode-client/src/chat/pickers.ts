/** Choosing mode, model, thinking and what is asked: lists over the server's options. */

import * as vscode from "vscode";

import type { PickerId } from "../messages";
import { confirm } from "../review/approvals";
import { type Offer, offersOf } from "./choices";
import type { Session } from "./session";

interface Row extends vscode.QuickPickItem {
  offer?: Offer;
  command?: string;
}

export async function pick(session: Session, picker: PickerId): Promise<void> {
  await session.open();
  const groups = offersOf(session.options, picker);
  if (groups.length === 0) return;
  const rows: Row[] = groups.flatMap(({ name, offers }) => [
    ...(groups.length > 1 ? [{ label: name, kind: vscode.QuickPickItemKind.Separator }] : []),
    ...offers.map((offer) => ({
      label: offer.label,
      description: offer.current ? vscode.l10n.t("current") : "",
      detail: offer.detail,
      offer,
    })),
  ]);
  if (picker === "model") {
    rows.push({ label: "", kind: vscode.QuickPickItemKind.Separator });
    rows.push({ label: `$(key) ${vscode.l10n.t("Store an API Key…")}`, alwaysShow: true, command: "north.storeKey" });
  }
  if (picker === "approvals" && session.permissions.length > 0) {
    rows.push({ label: "", kind: vscode.QuickPickItemKind.Separator });
    rows.push({ label: `$(shield) ${vscode.l10n.t("What Is Allowed Now…")}`, alwaysShow: true, command: "north.showPermissions" });
  }
  const chosen = await show(titleOf(picker), rows);
  if (chosen?.command !== undefined) await vscode.commands.executeCommand(chosen.command);
  const offer = chosen?.offer;
  if (offer === undefined || offer.current || (offer.loosens && !(await means(offer)))) return;
  await session.choose(offer.option, offer.value);
}

/** The present value has the focus. */
function show(title: string, rows: Row[]): Promise<Row | undefined> {
  const list = vscode.window.createQuickPick<Row>();
  list.title = title;
  list.items = rows;
  list.matchOnDetail = true;
  list.activeItems = rows.filter((row) => row.offer?.current === true).slice(0, 1);
  return new Promise((resolve) => {
    list.onDidAccept(() => {
      resolve(list.selectedItems[0]);
      list.hide();
    });
    list.onDidHide(() => {
      resolve(undefined);
      list.dispose();
    });
    list.show();
  });
}

function means(offer: Offer): Promise<boolean> {
  const question = offer.option === "_edits" ? vscode.l10n.t("Accept edits in this project without asking?") : vscode.l10n.t("Run commands in this project without asking?");
  const detail = vscode.l10n.t("{0}.\n\nIt applies until you revoke it: the shield in the status bar shows what is allowed, and revokes it.", offer.detail);
  return confirm(question, detail, offer.option === "_edits" ? vscode.l10n.t("Accept Edits") : vscode.l10n.t("Run Commands"), vscode.l10n.t("Keep Asking"));
}

function titleOf(picker: PickerId): string {
  switch (picker) {
    case "mode":
      return vscode.l10n.t("North: Switch Mode");
    case "model":
      return vscode.l10n.t("North: Switch Model");
    case "thought_level":
      return vscode.l10n.t("North: How Much the Model Thinks");
    case "approvals":
      return vscode.l10n.t("North: What Is Asked");
  }
}
