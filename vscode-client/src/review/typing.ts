/** Whether the user is writing in a file: a proposal that took that file's place would interrupt. */

import * as vscode from "vscode";

import { SCHEME } from "./texts";

const QUIET_MS = 10_000;

export class TypingWatch implements vscode.Disposable {
  private last = -Infinity;
  private readonly listener = vscode.window.onDidChangeTextEditorSelection(({ kind, textEditor }) => {
    if (kind !== vscode.TextEditorSelectionChangeKind.Keyboard || textEditor.document.uri.scheme === SCHEME) return;
    this.last = Date.now();
  });

  dispose(): void {
    this.listener.dispose();
  }

  /** The user has used the keyboard in a file, a moment ago, and has not turned to the chat since. */
  get inFile(): boolean {
    return Date.now() - this.last < QUIET_MS;
  }

  /** The user does something in the chat. */
  reset(): void {
    this.last = -Infinity;
  }
}
