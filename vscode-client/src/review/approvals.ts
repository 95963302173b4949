/** Questions that are not edits: the chat shows them above its input; this points to them from wherever the user is. What
 * is decided outside the chat is shown first, and what lasts is confirmed in words. */

import * as vscode from "vscode";

import type { PermissionOption } from "../acp";
import type { OpenQuestion, Questions } from "./questions";

/** A dialog shows no more than so much; what is longer has to be read in the chat. */
const MOST_CHARACTERS = 1_500;
const MOST_LINES = 20;

export function pointToCommands(questions: Questions, showChat: (question: OpenQuestion) => void): vscode.Disposable {
  return questions.onAsk((question) => {
    if (question.kind === "edit" && question.diffs.length > 0) return;
    showChat(question);
    void notify(question);
  });
}

/** Stays until the question is decided, and cannot decide it. */
function notify(question: OpenQuestion): Thenable<void> {
  const what = question.command === undefined ? question.title : `to run ${shortened(question.command)}`;
  const title = `North asks ${plain(what)} [Show](command:north.showWaiting)`;
  return vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title }, () => question.done);
}

/** Runs the command that the chat shows, once the user has seen it here as well. */
export async function runShown(questions: Questions, showChat: () => Promise<void>): Promise<void> {
  const [question] = questions.open;
  if (question?.kind !== "command") return showChat(); // something else is asked first
  const text = question.command ?? question.title;
  if (text.length > MOST_CHARACTERS || text.split("\n").length > MOST_LINES) {
    await showChat();
    void vscode.window.showInformationMessage("North: this command is too long for a dialog. Read and run it in the chat.");
    return;
  }
  const detail = [text, ...question.details].join("\n\n");
  if (await agreed("Run this command?", detail, "Run", "Not Now")) questions.chooseKind(question, "allow_once");
}

/** Whether the user means it: what an option allows beyond this once is said in words before it holds. */
export async function confirmed(question: OpenQuestion, option: PermissionOption): Promise<boolean> {
  if (option.kind !== "allow_always") return true;
  const told = option._meta?.north?.scope;
  const scope = told === undefined ? scopeOf(question, option) : `Without asking: ${told}.`;
  const detail = `${scope}\n\nIt holds until you take it back: the shield in the status bar shows what is allowed, and takes it back.`;
  return agreed(`${option.name}?`, detail, option.name, "Keep Asking");
}

/** The first button is the one that Enter presses: it allows nothing. */
export async function agreed(question: string, detail: string, yes: string, no: string): Promise<boolean> {
  return (await vscode.window.showWarningMessage(question, { modal: true, detail }, no, yes)) === yes;
}

/** For a server that does not say it. */
function scopeOf(question: OpenQuestion, option: PermissionOption): string {
  const folder = vscode.workspace.workspaceFolders?.[0]?.name ?? "this folder";
  if (question.kind !== "command") return `Every edit in ${folder} is written without asking, except of protected files.`;
  if (option.optionId === "all") return `Every command in ${folder} runs without asking, except dangerous ones.`;
  if (option.optionId === "always") return `This command, exactly as it is, runs in ${folder} without asking:\n\n${question.command ?? question.title}`;
  return `Commands like this one run in ${folder} without asking:\n\n${question.command ?? question.title}`;
}

function shortened(command: string): string {
  const line = command.replace(/\s*\n\s*/g, " ⏎ ");
  return line.length > 60 ? `${line.slice(0, 60)} … (${command.length} characters)` : line;
}

/** In a notification, which would read a link in it. */
export function plain(text: string): string {
  return text.replace(/[[\]()`]/g, (character) => ({ "[": "⁅", "]": "⁆", "(": "❨", ")": "❩" })[character] ?? "");
}
