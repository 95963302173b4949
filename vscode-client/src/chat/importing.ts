/** Taking over the log of a conversation from a file that the user chooses. */

import * as vscode from "vscode";

import { showWarning } from "../common/notices";
import { mainFolder } from "../common/settings";

const { l10n } = vscode;

export interface Imported {
  sessionId: string;
  messages: number;
  leftOut: number;
  warnings: string[];
}

type Ask = (method: string, params: object) => Promise<Imported>;

/** Returns the new conversation's id; undefined if none was made. Throws with the server's reason. */
export async function importLog(ask: Ask): Promise<string | undefined> {
  const filters = { [l10n.t("Logs of conversations")]: ["jsonl"], [l10n.t("All files")]: ["*"] };
  const [file] = (await vscode.window.showOpenDialog({ filters, title: l10n.t("North: Import a Conversation"), openLabel: l10n.t("Import") })) ?? [];
  if (file === undefined) return undefined;
  const params = { path: file.fsPath, cwd: mainFolder()?.uri.fsPath ?? "" };
  const imported = await ask("_north/sessions/import", params).catch(async (error: unknown) => {
    if (!canBeSalvaged(error)) throw error;
    const copy = l10n.t("Copy What Can Be Read");
    const chosen = await showWarning(error.message, { modal: true }, copy);
    return chosen === copy ? ask("_north/sessions/import", { ...params, salvage: true }) : undefined;
  });
  if (imported === undefined) return undefined;
  const count = imported.leftOut;
  const left = count === 1 ? l10n.t("One line could not be read.") : l10n.t("{0} lines could not be read.", count);
  const told = count === 0 ? imported.warnings : [left, ...imported.warnings];
  if (told.length > 0) void showWarning(`North: ${told.join(" ")}`);
  return imported.sessionId;
}

function canBeSalvaged(error: unknown): error is Error {
  if (!(error instanceof Error) || !("data" in error)) return false;
  const { data } = error;
  return typeof data === "object" && data !== null && "canBeSalvaged" in data && data.canBeSalvaged === true;
}
