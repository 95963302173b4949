/** Changing the proposed texts. They are saved at each change, so that closing a proposal never asks whether to save it. */

import * as vscode from "vscode";

import { splitLines } from "./hunks";
import { type ProposalTexts, questionOf, sideOf } from "./texts";

/** What a save may do to a text beside writing it. */
const CHANGING: [section: string, names: string[]][] = [
  ["files", ["trimTrailingWhitespace", "insertFinalNewline", "trimFinalNewlines"]],
  ["editor", ["formatOnSave"]],
];

export class ProposalDocuments implements vscode.Disposable {
  /** Documents that have changed since their text was written. */
  private readonly unsaved = new Set<string>();
  private readonly saving = new Set<string>();
  private readonly listeners: vscode.Disposable[];

  constructor(private readonly texts: ProposalTexts) {
    this.listeners = [
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        if (!this.compare(document)) return;
        void this.save(document);
      }),
      vscode.workspace.onDidSaveTextDocument((document) => this.compare(document)),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.unsaved.delete(uri.toString())),
    ];
  }

  dispose(): void {
    vscode.Disposable.from(...this.listeners).dispose();
  }

  /** A proposed text as the user sees it, saved or not. */
  read(uri: vscode.Uri): string {
    const open = this.unsaved.has(uri.toString()) ? openDocument(uri) : undefined;
    return open?.getText() ?? this.texts.read(uri);
  }

  /** What an editor shows is changed there, which its undo takes back. */
  async replace(uri: vscode.Uri, start: number, end: number, text: string): Promise<boolean> {
    if (vscode.window.visibleTextEditors.some(({ document }) => document.uri.toString() === uri.toString())) {
      const edit = new vscode.WorkspaceEdit();
      edit.replace(uri, new vscode.Range(start, 0, end, 0), text);
      return vscode.workspace.applyEdit(edit);
    }
    const lines = splitLines(this.read(uri));
    lines.splice(start, end - start, text);
    this.texts.write(uri, lines.join(""));
    this.unsaved.delete(uri.toString());
    return true;
  }

  /**
   * What is left unsaved would ask when its tab is closed. Each text is saved even if it looks saved: the window may know
   * of a change, or of a save that failed, a moment before this process does.
   */
  async finish(questionId: string): Promise<void> {
    for (let tries = 0; tries < 3; tries += 1) {
      const open = vscode.workspace.textDocuments.filter(({ uri }) => questionOf(uri) === questionId && sideOf(uri) !== "before");
      await Promise.all(open.filter(({ isDirty }) => isDirty || tries === 0).map((document) => document.save()));
      if (!open.some(({ isDirty }) => isDirty)) return;
    }
  }

  /** Notes whether a document is a proposed text that has not been written yet. */
  private compare(document: vscode.TextDocument): boolean {
    const { uri } = document;
    if (questionOf(uri) === undefined || sideOf(uri) === "before" || !this.texts.has(uri)) return false;
    const isAhead = document.getText() !== this.texts.read(uri);
    if (isAhead) this.unsaved.add(uri.toString());
    else this.unsaved.delete(uri.toString());
    return isAhead;
  }

  private async save(document: vscode.TextDocument): Promise<void> {
    const key = document.uri.toString();
    if (this.saving.has(key)) return;
    this.saving.add(key);
    let tried = -1;
    try {
      while (this.unsaved.has(key) && document.version !== tried && !document.isClosed) {
        tried = document.version;
        if (!(await saveAsItIs(document))) return;
        this.compare(document);
      }
    } finally {
      this.saving.delete(key);
    }
  }
}

/** Whether it could be saved. Only a command saves without what the user has switched on for saving, and only the editor
 * that has the focus; so it is used where it makes a difference. */
async function saveAsItIs(document: vscode.TextDocument): Promise<boolean> {
  if (!changesOnSave(document)) return document.save();
  if (vscode.window.activeTextEditor?.document !== document) return false;
  await vscode.commands.executeCommand("workbench.action.files.saveWithoutFormatting");
  return true;
}

function changesOnSave(document: vscode.TextDocument): boolean {
  return (
    CHANGING.some(([section, names]) => names.some((name) => vscode.workspace.getConfiguration(section, document).get(name) === true)) ||
    Object.keys(vscode.workspace.getConfiguration("editor", document).get<object>("codeActionsOnSave") ?? {}).length > 0
  );
}

function openDocument(uri: vscode.Uri): vscode.TextDocument | undefined {
  return vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri.toString());
}
