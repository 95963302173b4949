/** What VS Code knows, as something that goes with a message. */

import * as vscode from "vscode";

import type { SourceName } from "../messages";
import { codeOf } from "../places/problems";
import { type Attachment, linesOf, placeOf, type Problem, problemsText } from "./chips";
import { gitDiff } from "./git";

const LONGEST = 100_000;
const SEVERITIES = ["error", "warning", "information", "hint"] as const;

/** What a source gives now. Throws with the reason when there is nothing. */
export async function attachmentsOf(source: SourceName, editor = vscode.window.activeTextEditor): Promise<Attachment> {
  switch (source) {
    case "selection": {
      if (editor === undefined || editor.selection.isEmpty) throw new Error(vscode.l10n.t("select the text to ask about first."));
      return selection(editor);
    }
    case "file": {
      const file = fileIn(editor);
      if (file === undefined) throw new Error(vscode.l10n.t("open the file to ask about first."));
      return file;
    }
    case "problems": {
      const uri = editor?.document.uri;
      if (uri === undefined) throw new Error(vscode.l10n.t("open the file to ask about first."));
      const path = vscode.workspace.asRelativePath(uri);
      const label = vscode.l10n.t("Problems of {0}", path);
      return problems(label, `problems:${path}`, [[uri, vscode.languages.getDiagnostics(uri)]]);
    }
    case "all-problems":
      return problems(vscode.l10n.t("Problems of the workspace"), "problems:workspace", vscode.languages.getDiagnostics());
    case "terminal":
      return terminal();
    case "diff": {
      const diff = await gitDiff();
      return text(vscode.l10n.t("Git changes"), "diff:git", diff, vscode.l10n.t("What git shows as changed in the working tree and in the index"));
    }
  }
}

export function selection(editor: vscode.TextEditor): Attachment {
  const { document } = editor;
  const { start, end } = editor.selection;
  const lines = linesOf(start, end);
  const path = vscode.workspace.asRelativePath(document.uri);
  const uri = document.uri.with({ fragment: `L${lines[0]}-L${lines[1]}` }).toString();
  const block = { type: "resource" as const, resource: { uri, text: document.getText(editor.selection) } };
  return { label: placeOf(path, lines), block, detail: vscode.l10n.t("Lines {0} to {1} of {2}, as they are in the editor", lines[0], lines[1], path) };
}

function fileIn(editor: vscode.TextEditor | undefined): Attachment | undefined {
  const uri = editor?.document.uri;
  return uri?.scheme === "file" && vscode.workspace.getWorkspaceFolder(uri) !== undefined ? fileOrFolder(uri, false) : undefined;
}

/** North reads it: with unsaved changes, and as much of it as fits; of a folder it sees what is in it. */
export function fileOrFolder(uri: vscode.Uri, isFolder: boolean): Attachment {
  const name = vscode.workspace.asRelativePath(uri) + (isFolder ? "/" : "");
  const address = uri.toString() + (isFolder && !uri.path.endsWith("/") ? "/" : "");
  const detail = isFolder ? vscode.l10n.t("The folder {0}: the names of what is in it", name) : vscode.l10n.t("The file {0}", name);
  return { label: name, block: { type: "resource_link", uri: address, name }, detail };
}

export function picture({ mimeType, data, width, height }: { mimeType: string; data: string; width: number; height: number }): Attachment {
  const detail = vscode.l10n.t("A picture of {0} × {1} pixels", width, height);
  return { label: vscode.l10n.t("Picture {0} × {1}", width, height), block: { type: "image", mimeType, data }, detail };
}

function problems(label: string, uri: string, found: readonly (readonly [vscode.Uri, readonly vscode.Diagnostic[]])[]): Attachment {
  const listed = found.flatMap(([file, diagnostics]) => diagnostics.map((diagnostic) => problemOf(file, diagnostic)));
  if (listed.length === 0) throw new Error(vscode.l10n.t("VS Code shows no problems there."));
  const shown = listed.length === 1 ? vscode.l10n.t("One problem, as VS Code shows it") : vscode.l10n.t("{0} problems, as VS Code shows them", listed.length);
  return text(`${label} (${listed.length})`, uri, problemsText(listed), shown);
}

function problemOf(uri: vscode.Uri, { range, severity, message, source, code }: vscode.Diagnostic): Problem {
  return {
    path: vscode.workspace.asRelativePath(uri),
    line: range.start.line + 1,
    column: range.start.character + 1,
    severity: SEVERITIES[severity] ?? "information",
    message,
    source: `${source ?? ""} ${codeOf(code) ?? ""}`.trim(),
  };
}

/** VS Code tells a terminal's selection through the clipboard alone, which gets back what it had. */
async function terminal(): Promise<Attachment> {
  const { clipboard } = vscode.env;
  const name = vscode.window.activeTerminal?.name ?? "shell"; // another one may be active once it is copied
  const before = await clipboard.readText();
  let selected = "";
  try {
    await clipboard.writeText("");
    await vscode.commands.executeCommand("workbench.action.terminal.copySelection");
    selected = await clipboard.readText();
  } finally {
    await clipboard.writeText(before);
  }
  if (selected.trim() === "") throw new Error(vscode.l10n.t("select the text in the terminal first."));
  return text(vscode.l10n.t("Terminal {0}", name), `terminal:${name}`, selected, vscode.l10n.t("What is selected in the terminal {0}", name));
}

function text(label: string, uri: string, whole: string, detail: string): Attachment {
  const cut = whole.length > LONGEST;
  const shown = cut ? `${whole.slice(0, LONGEST)}\n… ${whole.length - LONGEST} characters left out …` : whole;
  return { label, block: { type: "resource", resource: { uri, text: shown } }, detail: cut ? vscode.l10n.t("{0}; it is shortened", detail) : detail };
}
