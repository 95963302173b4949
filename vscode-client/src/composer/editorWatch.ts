/** The text editor that the user was in last, as long as it is in view: a chat in a tab takes its place as the active one. */

import * as vscode from "vscode";

import { linesOf } from "./chips";
import type { Always, Shown } from "./editorContext";

/** While the user drags the mouse, the selection changes all the time. */
const QUIET_MS = 80;

export class EditorWatch implements vscode.Disposable {
  private last = vscode.window.activeTextEditor;
  private timer: NodeJS.Timeout | undefined;
  private readonly listeners: vscode.Disposable;

  constructor(private readonly changed: () => void) {
    this.listeners = vscode.Disposable.from(
      vscode.window.onDidChangeActiveTextEditor((editor) => {
        this.last = editor ?? this.last;
        changed();
      }),
      vscode.window.onDidChangeVisibleTextEditors(changed),
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => {
        if (textEditor === this.editor) this.changedSoon();
      }),
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration("north.alwaysAttach")) changed();
      }),
    );
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.listeners.dispose();
  }

  get editor(): vscode.TextEditor | undefined {
    const { activeTextEditor, visibleTextEditors } = vscode.window;
    return activeTextEditor ?? (this.last !== undefined && visibleTextEditors.includes(this.last) ? this.last : undefined);
  }

  /** Nothing for what is no text of the user's, such as an output channel or a proposal. */
  get shown(): Shown | undefined {
    const { editor } = this;
    const scheme = editor?.document.uri.scheme;
    if (editor === undefined || (scheme !== "file" && scheme !== "untitled")) return undefined;
    const { document, selection } = editor;
    const { uri } = document;
    const shown = { uri: uri.toString(), name: vscode.workspace.asRelativePath(uri), isFile: scheme === "file" && vscode.workspace.getWorkspaceFolder(uri) !== undefined };
    if (selection.isEmpty) return shown;
    const length = document.offsetAt(selection.end) - document.offsetAt(selection.start);
    return { ...shown, selection: { lines: linesOf(selection.start, selection.end), length } };
  }

  private changedSoon(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(this.changed, QUIET_MS);
  }
}

export function alwaysAttached(): Always {
  const value: unknown = vscode.workspace.getConfiguration().get("north.alwaysAttach");
  return value === "selection" || value === "selectionOrFile" ? value : "never";
}
