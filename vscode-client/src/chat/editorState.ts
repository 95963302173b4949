/** What VS Code shows while the user writes a prompt, in the form in which the server takes it: lines count from 1. */

import * as vscode from "vscode";

const MOST_FILES = 20;
const MOST_EDITS = 10;
const MOST_PROBLEMS = 10;
const SEVERITIES = ["error", "warning", "info", "hint"] as const;

export interface EditorState {
  active?: { uri: string; line: number; selection?: [number, number]; inView?: [number, number] };
  visible: string[];
  open: string[];
  unsaved: string[];
  recentEdits: { uri: string; line: number }[];
  problems: { line: number; severity: (typeof SEVERITIES)[number]; message: string }[];
}

/** Remembers where the user has typed last, and which editor was used last: the chat takes the focus away from it. */
export class EditorStates implements vscode.Disposable {
  private edits: { uri: string; line: number }[] = [];
  private last: vscode.TextEditor | undefined = vscode.window.activeTextEditor;
  private readonly listeners = vscode.Disposable.from(
    vscode.window.onDidChangeActiveTextEditor((editor) => {
      if (editor !== undefined) this.last = editor;
    }),
    vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
      const change = contentChanges.at(-1);
      if (change !== undefined && isFile(document)) this.edited(document.uri.toString(), change.range.start.line + 1);
    }),
  );

  dispose(): void {
    this.listeners.dispose();
  }

  now(): EditorState {
    const shown = vscode.window.visibleTextEditors.filter(({ document }) => isFile(document));
    const active = [vscode.window.activeTextEditor, this.last].find((editor) => editor !== undefined && shown.includes(editor)) ?? shown[0];
    const documents = vscode.workspace.textDocuments.filter(isFile);
    return {
      ...(active === undefined ? {} : { active: stateOf(active) }),
      visible: names(shown.map(({ document }) => document)),
      open: openFiles(),
      unsaved: names(documents.filter(({ isDirty }) => isDirty)),
      recentEdits: this.edits,
      problems: active === undefined ? [] : problemsOf(active.document.uri),
    };
  }

  private edited(uri: string, line: number): void {
    this.edits = [{ uri, line }, ...this.edits.filter((other) => other.uri !== uri)].slice(0, MOST_EDITS);
  }
}

function stateOf({ document, selection, visibleRanges }: vscode.TextEditor): NonNullable<EditorState["active"]> {
  const [first, last] = [visibleRanges.at(0), visibleRanges.at(-1)];
  return {
    uri: document.uri.toString(),
    line: selection.active.line + 1,
    ...(selection.isEmpty ? {} : { selection: linesOf(selection) }),
    ...(first === undefined || last === undefined ? {} : { inView: linesOf(new vscode.Range(first.start, last.end)) }),
  };
}

/** The last line is not among them if only its beginning is. */
function linesOf({ start, end }: vscode.Range): [number, number] {
  const last = end.character === 0 && end.line > start.line ? end.line : end.line + 1;
  return [start.line + 1, last];
}

function problemsOf(uri: vscode.Uri): EditorState["problems"] {
  const found = [...vscode.languages.getDiagnostics(uri)].sort((one, other) => one.severity - other.severity).slice(0, MOST_PROBLEMS);
  return found.map(({ range, severity, message }) => ({ line: range.start.line + 1, severity: SEVERITIES[severity] ?? "info", message }));
}

/** By their tabs: VS Code forgets the documents of tabs in the background. */
function openFiles(): string[] {
  const inputs = vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs.map(({ input }) => input));
  const uris = inputs.flatMap((input) => (input instanceof vscode.TabInputText && input.uri.scheme === "file" ? [input.uri.toString()] : []));
  return [...new Set(uris)].slice(0, MOST_FILES);
}

function names(documents: readonly vscode.TextDocument[]): string[] {
  return documents.map(({ uri }) => uri.toString()).slice(0, MOST_FILES);
}

function isFile({ uri }: vscode.TextDocument): boolean {
  return uri.scheme === "file";
}
