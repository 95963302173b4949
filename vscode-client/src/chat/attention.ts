/** Telling the user who is in another window that North waits, or is done. What waits in the chat alone is told anyway. */

import * as vscode from "vscode";

import { showInfo, showUntil, showWarning } from "../common/notices";
import type { OpenQuestion, Questions } from "../review/questions";
import type { Conversation, Conversations } from "./conversations";

export function notifyInBackground(conversations: Conversations, questions: Questions): vscode.Disposable {
  return vscode.Disposable.from(
    questions.onAsk((question) => {
      if (!vscode.window.state.focused && question.diffs.length > 0) void notifyWaiting(question);
    }),
    conversations.onAttention(({ conversation, reason }) => {
      if (!vscode.window.state.focused && reason !== "review") void notifyEnded(conversation, reason === "failed");
    }),
  );
}

/** Until it is decided. */
function notifyWaiting(question: OpenQuestion): Thenable<void> {
  const files = [...new Set(question.diffs.map((diff) => vscode.workspace.asRelativePath(diff.path)))];
  const named = files.slice(0, 3).join(", ") + (files.length > 3 ? vscode.l10n.t(" and {0} more", files.length - 3) : "");
  return showUntil(question.done, vscode.l10n.t("North proposes to change {0}.", named), vscode.l10n.t("Show"), "showWaiting");
}

async function notifyEnded({ session, panel }: Conversation, failed: boolean): Promise<void> {
  const title = session.title || vscode.l10n.t("New Chat");
  const text = failed ? vscode.l10n.t("North could not continue: {0}", title) : vscode.l10n.t("North is done: {0}", title);
  const show = vscode.l10n.t("Show");
  const chosen = failed ? await showWarning(text, show) : await showInfo(text, show);
  if (chosen === show) await panel.show(false);
}
