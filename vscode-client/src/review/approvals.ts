/** Questions that are not edits: the chat shows them above its input; this points to them from wherever the user is. What
 * is decided outside the chat is shown first, and what lasts is confirmed in words. */

import * as vscode from "vscode";

const { l10n } = vscode;

import type { PermissionOption } from "../acp";
import { showInfo, showUntil, showWarning } from "../common/notices";
import { visible } from "../common/visible";
import type { OpenQuestion, Questions } from "./questions";

/** A dialog shows no more than so much; what is longer has to be read in the chat. */
const MOST_CHARACTERS = 1_500;
const MOST_LINES = 20;

export function announceQuestions(questions: Questions, showChat: (question: OpenQuestion) => void): vscode.Disposable {
  return questions.onAsk((question) => {
    if (question.kind === "edit" && question.diffs.length > 0) return;
    showChat(question);
    void notify(question);
  });
}

/** Stays until the question is decided, and cannot decide it. */
function notify(question: OpenQuestion): Thenable<void> {
  const { command } = question;
  const asked = question.title;
  const said = asked.startsWith("North ") ? asked : l10n.t("North asks {0}", asked);
  const what = command === undefined ? said : l10n.t("North asks to run {0}", shortened(command));
  return showUntil(question.done, what, l10n.t("Show"), "showWaiting");
}

/** Runs the command that the chat shows, once the user has seen it here as well. */
export async function runShown(questions: Questions, showChat: () => Promise<void>): Promise<void> {
  const [question] = questions.open;
  if (question?.kind !== "command") return showChat(); // something else is asked first
  const text = question.command ?? question.title;
  if (visible(text) !== text) {
    await showChat();
    void showInfo(l10n.t("North: this command has characters that cannot be seen as they are. The chat marks them: read and run it there."));
    return;
  }
  if (text.length > MOST_CHARACTERS || text.split("\n").length > MOST_LINES) {
    await showChat();
    void showInfo(l10n.t("North: this command is too long for a dialog. Read and run it in the chat."));
    return;
  }
  const detail = [text, ...question.details].join("\n\n");
  if (await confirm(l10n.t("Run this command?"), detail, l10n.t("Run"), l10n.t("Not Now"))) questions.chooseKind(question, "allow_once");
}

/** For how long the user means it, if at all: what an option allows beyond this once is said in words before it holds. */
export async function confirmLasting(question: OpenQuestion, option: PermissionOption): Promise<"project" | "session" | undefined> {
  if (option.kind !== "allow_always") return "project";
  const told = option._meta?.north?.scope;
  const scope = told === undefined ? scopeOf(question, option) : l10n.t("Without asking: {0}.", told);
  const back = l10n.t("It applies until you revoke it: the shield in the status bar shows what is allowed, and revokes it.");
  const here = l10n.t("Only in This Conversation");
  const may = mayHoldForConversation(question, option) ? [here] : [];
  const options = { modal: true, detail: `${scope}\n\n${back}` };
  const yes = visible(option.name);
  const chosen = await showWarning(`${yes}?`, options, l10n.t("Keep Asking"), yes, ...may);
  return chosen === yes ? "project" : chosen === here ? "session" : undefined;
}

/** The server knows it for all edits and for all commands. */
export function mayHoldForConversation(question: OpenQuestion, option: PermissionOption): boolean {
  return option._meta?.north?.scope !== undefined && (question.kind === "edit" || option.optionId === "all");
}

/** The first button is the one that Enter presses: it allows nothing. */
export async function confirm(question: string, detail: string, yes: string, no: string): Promise<boolean> {
  return (await showWarning(question, { modal: true, detail }, no, yes)) === yes;
}

/** For a server that does not say it. */
function scopeOf(question: OpenQuestion, option: PermissionOption): string {
  const folder = vscode.workspace.workspaceFolders?.[0]?.name ?? l10n.t("this folder");
  if (question.kind !== "command") return l10n.t("Every edit in {0} is written without asking, except of protected files.", folder);
  if (option.optionId === "all") return l10n.t("Every command in {0} runs without asking, except dangerous ones.", folder);
  const command = question.command ?? question.title;
  if (option.optionId === "always") return l10n.t("This command, exactly as it is, runs in {0} without asking:", folder) + `\n\n${command}`;
  return l10n.t("Commands like this one run in {0} without asking:", folder) + `\n\n${command}`;
}

function shortened(command: string): string {
  const line = visible(command).replace(/\s*\n\s*/g, " ⏎ ");
  return line.length > 60 ? l10n.t("{0} … ({1} characters)", line.slice(0, 60), command.length) : line;
}
