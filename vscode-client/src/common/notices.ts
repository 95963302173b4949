/** All that VS Code shows in notifications and dialogs goes through here: much of it is words of others (names of models'
 * making, places in answers, what a server says), in which VS Code would take `[words](command:…)` for a link. */

import * as vscode from "vscode";

import { visible } from "./visible";

type Rest = [vscode.MessageOptions, ...string[]] | string[];
type Show = (text: string, options: vscode.MessageOptions, ...buttons: string[]) => Thenable<string | undefined>;

/** `rest`: as VS Code's own functions have it, the options if there are any, and the buttons. */
export function showInfo(text: string, ...rest: Rest): Thenable<string | undefined> {
  return through((...all) => vscode.window.showInformationMessage(...all), text, rest);
}

export function showWarning(text: string, ...rest: Rest): Thenable<string | undefined> {
  return through((...all) => vscode.window.showWarningMessage(...all), text, rest);
}

export function showError(text: string, ...rest: Rest): Thenable<string | undefined> {
  return through((...all) => vscode.window.showErrorMessage(...all), text, rest);
}

/** A notification that stays until something is over; its link leads to a command of North's. */
export function showUntil(done: Promise<void>, text: string, link: string, command: "showWaiting" | "showChanges"): Thenable<void> {
  const title = `${withoutLinks(text)} [${link}](command:north.${command})`;
  return vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title }, () => done);
}

/** A dialog shows its text as it is; a notification makes links of what looks like them. */
function through(show: Show, text: string, rest: Rest): Thenable<string | undefined> {
  const [first, ...others] = rest;
  const [options, buttons] = typeof first === "object" ? [first, others] : [{}, rest];
  const { detail } = options;
  const shown = options.modal === true ? visible(text) : withoutLinks(text);
  return show(shown, detail === undefined ? options : { ...options, detail: visible(detail) }, ...(buttons as string[]));
}

/** As a notification can show it: nothing in it is a link, and nothing invisible. */
export function withoutLinks(text: string): string {
  return visible(text).replaceAll("](", "] (");
}
