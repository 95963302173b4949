/** North's entries in the menus of the explorer, the editor, the terminal and the tests: each attaches what it stands at. */

import * as vscode from "vscode";

import { showInfo } from "../common/notices";
import type { Register } from "../common/registering";
import { linesOf } from "../composer/chips";
import { attachmentsOf, fileOrFolder } from "../composer/attachmentSources";
import type { SourceName } from "../messages";
import { partOf } from "./attachments";
import type { Chat } from "./chat";
import { failureText } from "./prompts";
import { around } from "./ranges";

const LINES_AROUND = 20;

export function registerMenus(chat: Chat, register: Register): vscode.Disposable {
  return vscode.Disposable.from(
    register("askSelection", () => attachSource(chat, "selection")),
    register("askFile", (uri, all) => attachFiles(chat, uri, all)),
    register("attachShown", () => chat.attachShown()),
    register("askTerminal", () => attachSource(chat, "terminal")),
    register("fixTest", (argument) => fixTest(chat, argument)),
  );
}

/** Throws with the reason when there is nothing to attach. */
async function attachSource(chat: Chat, source: SourceName): Promise<void> {
  await chat.attach(await attachmentsOf(source));
}

/** From the explorer all that is selected there, from the palette the file in the editor. */
async function attachFiles(chat: Chat, uri: unknown, all: unknown): Promise<void> {
  const chosen = Array.isArray(all) ? all.filter((one) => one instanceof vscode.Uri) : [];
  const named = chosen.length > 0 ? chosen : uri instanceof vscode.Uri ? [uri] : [vscode.window.activeTextEditor?.document.uri];
  const files = named.filter((one) => one?.scheme === "file");
  if (files.length === 0) {
    void showInfo(vscode.l10n.t("North: open the file to ask about first."));
    return;
  }
  for (const file of files) {
    if (file !== undefined) await chat.attach(fileOrFolder(file, await isFolder(file)));
  }
}

async function isFolder(uri: vscode.Uri): Promise<boolean> {
  const { type } = await vscode.workspace.fs.stat(uri);
  return (type & vscode.FileType.Directory) !== 0;
}

/** From a test's own menu, or from that of a message that it failed with. */
async function fixTest(chat: Chat, argument: unknown): Promise<void> {
  const { test, message } = testOf(argument);
  if (test?.uri === undefined) {
    void showInfo(vscode.l10n.t("North: choose a test of a file in the list of tests."));
    return;
  }
  const words = message === undefined ? "" : typeof message.message === "string" ? message.message : message.message.value;
  const failure = {
    name: test.label,
    message: words,
    ...(message?.expectedOutput === undefined ? {} : { expected: message.expectedOutput }),
    ...(message?.actualOutput === undefined ? {} : { actual: message.actualOutput }),
  };
  const document = await vscode.workspace.openTextDocument(test.uri);
  const attachment = test.range === undefined ? fileOrFolder(test.uri, false) : partOf(document, around(linesOf(test.range.start, test.range.end), LINES_AROUND, document.lineCount));
  await chat.edit(failureText(failure), [attachment]);
}

interface FailedTest {
  test?: Pick<vscode.TestItem, "label" | "uri" | "range">;
  message?: Pick<vscode.TestMessage, "message" | "expectedOutput" | "actualOutput">;
}

function testOf(argument: unknown): FailedTest {
  if (isTest(argument)) return { test: argument };
  if (typeof argument !== "object" || argument === null) return {};
  const test = "test" in argument && isTest(argument.test) ? { test: argument.test } : {};
  const message = "message" in argument && isMessage(argument.message) ? { message: argument.message } : {};
  return { ...test, ...message };
}

function isTest(value: unknown): value is NonNullable<FailedTest["test"]> {
  if (typeof value !== "object" || value === null || !("label" in value) || !("uri" in value)) return false;
  return typeof value.label === "string" && (value.uri === undefined || value.uri instanceof vscode.Uri);
}

function isMessage(value: unknown): value is NonNullable<FailedTest["message"]> {
  if (typeof value !== "object" || value === null || !("message" in value)) return false;
  return typeof value.message === "string" || value.message instanceof vscode.MarkdownString;
}
