/** What can be done with the code of an answer: copied, inserted at the cursor, applied to a file, which is shown as a
 * diff before it is done, typed into a terminal, or drawn. */

import { basename } from "node:path";
import * as vscode from "vscode";

import { showInfo, showWarning } from "../common/notices";
import type { FromPage } from "../messages";
import { closeChange, showChange } from "./changes";
import { showDiagram } from "./diagrams";
import { mainFolder } from "../common/settings";
import { findInside } from "./opening";
import { placeOf } from "./codePlacement";
import { commandsIn } from "./terminalText";

type Code = Extract<FromPage, { type: "code" }>;

export async function useCode(code: Code): Promise<void> {
  switch (code.what) {
    case "copy":
      return vscode.env.clipboard.writeText(code.text);
    case "insert":
      return insert(code);
    case "apply":
      return apply(code);
    case "terminal":
      return typeIntoTerminal(code.text);
    case "diagram":
      return showDiagram(code);
  }
}

const OPENING_MS = 15_000;
/** The terminal of code that was typed before, so that not each block opens another one. */
let terminal: vscode.Terminal | undefined;

/** The user reads it there, and runs it with Enter. */
async function typeIntoTerminal(code: string): Promise<void> {
  const text = commandsIn(code);
  if (text === undefined) {
    const words = vscode.l10n.t("This code has characters that a terminal would not show as they are. Copy it instead.");
    return void showWarning(words);
  }
  if (terminal === undefined || terminal.exitStatus !== undefined) {
    terminal = vscode.window.createTerminal({ name: vscode.l10n.t("North: Code"), cwd: mainFolder()?.uri });
  }
  const typed = terminal;
  typed.show(false);
  if (!text.includes("\n")) return typed.sendText(text, false);
  const pasted = pasting.then(() => paste(typed, text));
  pasting = pasted.catch(() => undefined);
  return pasted;
}

/** One after the other: each needs the clipboard. */
let pasting: Promise<void> = Promise.resolve();

/** Typed, each line would run at once. VS Code pastes them as one text, or asks before a shell runs them. */
async function paste(typed: vscode.Terminal, text: string): Promise<void> {
  const isThere = await isActive(typed);
  const before = await vscode.env.clipboard.readText();
  try {
    // The clipboard is the user's until the terminal is there, and what is copied meanwhile is not pasted.
    if (isThere) await vscode.env.clipboard.writeText(text);
    if (!isThere || !(await isActive(typed))) return void showWarning(vscode.l10n.t("The terminal did not open. Copy the code instead."));
    if ((await vscode.env.clipboard.readText()) !== text) {
      return void showWarning(vscode.l10n.t("Something else was copied in the meantime, so the code was not pasted. Try again."));
    }
    // The user may go to another one at any time: shown right before, this one is what VS Code pastes into.
    typed.show(false);
    await vscode.commands.executeCommand("workbench.action.terminal.paste");
  } finally {
    // What the user has copied meanwhile stays.
    if ((await vscode.env.clipboard.readText()) === text) await vscode.env.clipboard.writeText(before);
  }
}

/** Waits until it is what VS Code pastes into: until then that is another one, with whatever runs there. False once it is closed. */
function isActive(wanted: vscode.Terminal): Promise<boolean> {
  return new Promise((resolve) => {
    const isThere = (): boolean => vscode.window.activeTerminal === wanted;
    if (wanted.exitStatus !== undefined) return resolve(false);
    if (isThere()) return resolve(true);
    const end = (is: boolean): void => {
      clearTimeout(timer);
      vscode.Disposable.from(...listeners).dispose();
      resolve(is);
    };
    const listeners = [
      vscode.window.onDidChangeActiveTerminal(() => isThere() && end(true)),
      vscode.window.onDidCloseTerminal((closed) => closed === wanted && end(false)),
    ];
    const timer = setTimeout(() => end(isThere()), OPENING_MS);
  });
}

/** The editor that was used last; the chat is none. */
function editorForCode(): vscode.TextEditor | undefined {
  const { activeTextEditor, visibleTextEditors } = vscode.window;
  return [activeTextEditor, ...visibleTextEditors].find((editor) => ["file", "untitled"].includes(editor?.document.uri.scheme ?? ""));
}

async function insert(code: Code): Promise<void> {
  const editor = editorForCode();
  if (editor === undefined) return openNew(code);
  await editor.edit((change) => {
    for (const selection of editor.selections) change.replace(selection, code.text);
  });
  await vscode.window.showTextDocument(editor.document, editor.viewColumn);
}

async function openNew({ text, language }: Code): Promise<void> {
  const known = (await vscode.languages.getLanguages()).includes(language);
  const document = await vscode.workspace.openTextDocument({ content: text, ...(known ? { language } : {}) });
  await vscode.window.showTextDocument(document);
}

async function apply(code: Code): Promise<void> {
  const file = await chooseFile(code);
  if (file === undefined) return;
  if (file === "new") return openNew(code);
  const document = await vscode.workspace.openTextDocument(file);
  const before = document.getText();
  const change = changeOf(code.text, document);
  const [from, to] = [document.offsetAt(change.range.start), document.offsetAt(change.range.end)];
  const after = before.slice(0, from) + change.newText + before.slice(to);
  if (after === before) return void showInfo(vscode.l10n.t("The file has this code already."));
  const key = `code:${file.toString()}`;
  const name = vscode.workspace.asRelativePath(file);
  await showChange(key, { type: "diff", path: file.fsPath, oldText: before, newText: after }, vscode.l10n.t("{0} (code of the answer)", name));
  const yes = vscode.l10n.t("Apply");
  const chosen = await showInfo(vscode.l10n.t("Apply this code to {0}?", name), yes, vscode.l10n.t("Discard"));
  await closeChange(key);
  if (chosen !== yes) return;
  if (document.getText() !== before) {
    return void showWarning(vscode.l10n.t("{0} has changed since, and was left as it is.", name));
  }
  const edit = new vscode.WorkspaceEdit();
  edit.set(file, [change]);
  await vscode.workspace.applyEdit(edit);
  await vscode.window.showTextDocument(document);
}

/** In the place of what it is a new version of; else at the cursor, or at the end. */
function changeOf(code: string, document: vscode.TextDocument): vscode.TextEdit {
  const end = document.eol === vscode.EndOfLine.CRLF ? "\r\n" : "\n";
  const placed = placeOf(code, document.getText());
  if (placed !== undefined) {
    const range = new vscode.Range(placed.start, 0, placed.end - 1, document.lineAt(placed.end - 1).range.end.character);
    return new vscode.TextEdit(range, placed.lines.join(end));
  }
  const editor = editorForCode();
  const last = document.lineAt(document.lineCount - 1).range.end;
  const place = editor?.document === document ? editor.selection : new vscode.Range(last, last);
  const lead = place.start.isEqual(last) && last.character > 0 ? end : "";
  return new vscode.TextEdit(place, `${lead}${code}${end}`);
}

/** The file that the code names, else one that the user chooses; those in view come first. */
async function chooseFile({ name, text }: Code): Promise<vscode.Uri | "new" | undefined> {
  const named = [name, ...name.split(/[\s{}"'=]+/), /^\W*([\w./-]+\.\w+)\W*$/.exec(text.split("\n", 1)[0] ?? "")?.[1] ?? ""];
  for (const word of named) {
    const file = /\.\w+$/.test(word) ? await findInside(word) : undefined;
    if (file !== undefined) return vscode.Uri.file(file);
  }
  const open = vscode.window.tabGroups.all.flatMap((group) => group.tabs.map((tab) => tab.input));
  const active = vscode.window.activeTextEditor?.document.uri;
  const uris = [active, ...open.map((input) => (input instanceof vscode.TabInputText ? input.uri : undefined))];
  const files = new Map(uris.flatMap((uri) => (uri?.scheme === "file" ? [[uri.fsPath, uri] as const] : [])));
  const items = [...files.values()].map((uri) => ({
    label: basename(uri.fsPath),
    description: vscode.workspace.asRelativePath(uri),
    uri: uri as vscode.Uri | "new",
  }));
  items.push({ label: vscode.l10n.t("New File"), description: "", uri: "new" });
  const placeHolder = vscode.l10n.t("The file that the code is for; its changes are shown before they are made");
  return (await vscode.window.showQuickPick(items, { title: vscode.l10n.t("North: Apply Code"), placeHolder }))?.uri;
}
