/** The files with what was learned of the project: its profile, and what was remembered of conversations. */

import * as vscode from "vscode";

import { showInfo } from "../common/notices";
import { openFile } from "./opening";
import type { Session } from "./session";

interface LearnedFile {
  kind: string;
  title: string;
  path: string;
}

async function learnedFiles(session: Session): Promise<LearnedFile[]> {
  return (await session.ask<{ files: LearnedFile[] }>("_north/learned/list", {})).files;
}

/** Whether a file is one of them, which may be opened though it is in none of the open folders. */
export async function isLearned(session: Session, path: string): Promise<boolean> {
  try {
    return (await learnedFiles(session)).some((file) => file.path === path);
  } catch {
    return false; // the server does not know the method, or is gone
  }
}

/** Opens the only file, or the one that is chosen. */
export async function openLearned(session: Session): Promise<void> {
  const files = await learnedFiles(session);
  if (files.length === 0) {
    void showInfo(vscode.l10n.t("Nothing has been learned about this project yet. Send /learn in the chat to have a model explore it."));
    return;
  }
  const rows = files.map((file) => ({ label: nameOf(file), detail: file.path, file }));
  const chosen = rows.length === 1 ? rows[0] : await vscode.window.showQuickPick(rows, { title: vscode.l10n.t("North: Learned About This Project") });
  if (chosen !== undefined) await openFile(chosen.file.path, null);
}

/** A newer server may have files that are not known here. */
function nameOf({ kind, title }: LearnedFile): string {
  const names: Record<string, string> = {
    profile: vscode.l10n.t("Project profile"),
    summary: vscode.l10n.t("Memory: summary"),
    memory: vscode.l10n.t("Memory"),
    notes: vscode.l10n.t("Memory: notes"),
    skill: vscode.l10n.t("Memory: {0}", title),
  };
  return names[kind] ?? title;
}
