/** Commands to approve: a card in the chat asks; this points to it from wherever the user is. */

import * as vscode from "vscode";

import { kindOf, type OpenQuestion, type Questions } from "./questions";

export function pointToCommands(questions: Questions, showChat: () => void): vscode.Disposable {
  return questions.onAsk((question) => {
    if (kindOf(question) !== "command") return;
    showChat();
    void notify(question);
  });
}

/** Stays until the question is decided, and cannot decide it. */
function notify(question: OpenQuestion): Thenable<void> {
  const title = "North asks to run a command: answer in chat or palette";
  return vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title }, () => question.done);
}
