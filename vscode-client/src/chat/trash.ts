/** The deleted conversations: a list with the time of each, from which one is put back and gone on with. */

import * as vscode from "vscode";

import type { SessionList, SessionRow } from "../acp";
import { showInfo } from "../common/notices";
import { foldersHere } from "../common/sameFolder";
import { mainFolder } from "../common/settings";
import { ago } from "./stored";

const { l10n } = vscode;

interface Row extends vscode.QuickPickItem {
  row: SessionRow;
}

type Ask = <Result>(method: string, params: object) => Promise<Result>;

/** Puts the chosen one back. Returns it, or undefined if none is chosen. */
export async function restoreDeleted(ask: Ask): Promise<SessionRow | undefined> {
  const { sessions } = await ask<SessionList>("_north/sessions/trash", {});
  if (sessions.length === 0) {
    void showInfo(l10n.t("North: there is no conversation in the trash."));
    return undefined;
  }
  const isHere = await foldersHere(mainFolder()?.uri.fsPath ?? "", sessions.map(({ cwd }) => cwd ?? ""));
  const rows = sessions.map((row) => trashRow(row, new Date(), isHere));
  const title = l10n.t("North: Restore a Deleted Conversation");
  const placeHolder = l10n.t("It comes back into the lists, and opens. What is deleted stays here for 30 days.");
  const chosen = await vscode.window.showQuickPick<Row>(rows, { title, placeHolder, matchOnDescription: true, matchOnDetail: true });
  return chosen === undefined ? undefined : ask<SessionRow>("_north/sessions/restore", { sessionId: chosen.row.sessionId });
}

export function trashRow(row: SessionRow, now: Date, isHere: (folder: string) => boolean): Row {
  const when = row.deletedAt ? ago(new Date(row.deletedAt), now) : "";
  const facts = [
    when === "" ? "" : l10n.t("deleted {0}", when),
    row.messageCount === undefined ? "" : l10n.t("{0} messages", row.messageCount),
    row.cwd === undefined || isHere(row.cwd) ? "" : row.cwd,
  ];
  const label = (row.name ?? "").trim().replaceAll("$(", "$\u200b(");
  return { label: label === "" ? l10n.t("Untitled") : label, description: facts.filter((fact) => fact !== "").join(" · "), row };
}
