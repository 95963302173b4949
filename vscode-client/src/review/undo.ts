/** Taking applied edits back, and doing them again. What was changed since is kept, or lost only where the user says so. */

import * as vscode from "vscode";

import type { Session } from "../chat/session";
import { showInfo, showWarning } from "../common/notices";
import type { Checkpoint } from "./checkpoints";

const { l10n } = vscode;

type Way = { steps: number } | { redo: number } | { checkpointId: string } | { since: string } | { turnId: string };
export type Conflicts = "skip" | "merge" | "overwrite";

export interface Outcome {
  files: { path: string; outcome: string; detail?: string }[];
}

const RESTORE = "_north/checkpoints/restore";
const DONE = new Set(["restored", "merged", "overwritten", "marked"]);

/** Something was taken back, or done again. */
export const undone = new vscode.EventEmitter<void>();

/** Says so to those who show what stands. */
export function restored(): void {
  undone.fire();
}

/** Takes back what `way` names and tells what became of it. Returns whether anything has changed. */
export async function takeBack(session: Session, way: Way): Promise<boolean> {
  const planned = await session.ask<Outcome>(RESTORE, { ...way, dryRun: true });
  const met = planned.files.filter((file) => file.outcome === "conflict");
  const conflicts = met.length === 0 ? "skip" : await decide(met.map((file) => file.path));
  if (conflicts === undefined) return false;
  const outcome = await session.ask<Outcome>(RESTORE, { ...way, conflicts });
  tell(outcome);
  restored();
  return outcome.files.some((file) => DONE.has(file.outcome));
}

/** Lets the user choose among all edits of the conversation, the newest first. */
export async function chooseAndTakeBack(session: Session): Promise<void> {
  const { checkpoints } = await session.ask<{ checkpoints: Checkpoint[] }>("_north/checkpoints/list", {});
  const edits = checkpoints.filter((one) => one.kind === "edit" && one.files.some((file) => !file.undone)).reverse();
  if (edits.length === 0) {
    void showInfo(l10n.t("North: this conversation has no edit to undo."));
    return;
  }
  const items = edits.map((one) => ({
    label: one.title,
    description: new Date(one.at).toLocaleTimeString(),
    detail: one.files.map((file) => vscode.workspace.asRelativePath(file.newPath ?? file.path)).join(", "),
    id: one.checkpointId,
  }));
  const chosen = await vscode.window.showQuickPick(items, { title: l10n.t("North: Undo an Edit"), placeHolder: l10n.t("The edit to undo") });
  if (chosen === undefined) return;
  const ways = [
    { label: l10n.t("Undo this edit only"), way: { checkpointId: chosen.id } },
    { label: l10n.t("Undo this edit and all later ones"), way: { since: chosen.id } },
  ];
  const picked = chosen.id === edits[0]?.checkpointId ? ways[0] : await vscode.window.showQuickPick(ways, { title: chosen.label });
  if (picked !== undefined) await takeBack(session, picked.way);
}

export async function decide(paths: string[]): Promise<Conflicts | undefined> {
  const answers: Record<string, Conflicts> = {
    [l10n.t("Keep Later Changes")]: "skip",
    [l10n.t("Write Both with Conflict Marks")]: "merge",
    [l10n.t("Discard My Later Changes")]: "overwrite",
  };
  const detail = `${paths.join("\n")}\n\n${l10n.t("These files were changed later at the same place.")}`;
  const options = { modal: true, detail };
  const chosen = await showWarning(l10n.t("North cannot undo everything."), options, ...Object.keys(answers));
  return chosen === undefined ? undefined : answers[chosen];
}

export function tell({ files }: Outcome): void {
  const done = files.filter((file) => DONE.has(file.outcome));
  const left = files.filter((file) => !DONE.has(file.outcome) && file.outcome !== "unchanged");
  const names = (some: typeof files) => some.map((file) => file.path).join(", ");
  if (left.length > 0) {
    const reasons = left.map((file) => `${file.path} (${file.detail ?? file.outcome})`).join(", ");
    const words = l10n.t("North: not restored: {0}.", reasons);
    void showWarning(done.length > 0 ? `${words} ${l10n.t("Restored: {0}.", names(done))}` : words);
  } else {
    const told = done.length > 0 ? l10n.t("North restored {0}", names(done)) : l10n.t("North restored nothing: the files are already in that state");
    void vscode.window.setStatusBarMessage(told, 6000);
  }
}
