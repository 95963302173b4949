/** Whether what is left behind by going back is summarized for the model that goes on: only asked if the user wants that. */

import * as vscode from "vscode";

const { l10n } = vscode;

/** What the server is told of it. */
export interface Summary {
  summarize?: true;
  instructions?: string;
}

interface Row extends vscode.QuickPickItem {
  summary: Summary;
  asks?: true;
}

/** Undefined if the user gives up. */
export async function summaryOf(planned: { offersSummary?: boolean }, what: string): Promise<Summary | undefined> {
  if (planned.offersSummary !== true || what === "files") return {};
  const rows: Row[] = [
    { label: l10n.t("No Summary"), summary: {} },
    { label: l10n.t("Summarize"), summary: { summarize: true } },
    { label: l10n.t("Summarize, with Instructions…"), summary: { summarize: true }, asks: true },
  ];
  const title = l10n.t("North: What Is Left Behind");
  const chosen = await vscode.window.showQuickPick(rows, { title, placeHolder: l10n.t("A small model can summarize it, for the model that continues") });
  if (chosen?.asks !== true) return chosen?.summary;
  const instructions = await vscode.window.showInputBox({ title, prompt: l10n.t("What the summary should say") });
  return instructions === undefined ? undefined : { summarize: true, ...(instructions.trim() === "" ? {} : { instructions: instructions.trim() }) };
}

/** Can be cancelled; then nothing has moved. */
export function whileSummarizing<Result>(go: (token: vscode.CancellationToken) => Promise<Result>): Thenable<Result> {
  const title = l10n.t("North summarizes what is left behind…");
  return vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title, cancellable: true }, (_, token) => go(token));
}
