/** Documents that are opened for VS Code's language servers alone, which answer about open files. North's server is not
 * told of them until the user has to do with them: it reads and writes such a file on the disk, as before. */

import * as vscode from "vscode";
import type { LanguageClientOptions } from "vscode-languageclient/node";

type Middleware = NonNullable<LanguageClientOptions["middleware"]>;

const FRESH_MS = 1_500;

export class HiddenDocuments implements vscode.Disposable {
  /** How North's server is told, by address; undefined as long as the document is only being opened. */
  private readonly held = new Map<string, (() => Promise<void>) | undefined>();
  private readonly listener = vscode.window.tabGroups.onDidChangeTabs(() => {
    for (const key of this.held.keys()) if (isInTab(key)) void this.tell(key);
  });

  dispose(): void {
    this.listener.dispose();
  }

  /** What goes between the editor's documents and North's server. */
  readonly middleware: Pick<Middleware, "didOpen" | "didChange" | "didSave" | "didClose"> = {
    didOpen: async (document, next) => {
      const key = document.uri.toString();
      if (!this.held.has(key) || isUsed(document)) {
        this.held.delete(key);
        return next(document);
      }
      this.held.set(key, () => next(document));
    },
    didChange: async (event, next) => {
      const key = event.document.uri.toString();
      if (!this.held.has(key)) return next(event);
      if (isUsed(event.document)) await this.tell(key); // with the change
    },
    didSave: async (document, next) => {
      if (!this.held.has(document.uri.toString())) return next(document);
    },
    didClose: async (document, next) => {
      if (!this.held.delete(document.uri.toString())) return next(document);
    },
  };

  /** A file's document as the disk has it, opened without being shown if it is not open. */
  async open(uri: vscode.Uri): Promise<vscode.TextDocument> {
    const key = uri.toString();
    const open = vscode.workspace.textDocuments.find((document) => document.uri.toString() === key);
    if (open === undefined) this.held.set(key, undefined);
    const document = open ?? (await vscode.workspace.openTextDocument(uri));
    if (this.held.has(key)) await fresh(document);
    return document;
  }

  /** Whether it is open only for this. */
  has(uri: vscode.Uri): boolean {
    return this.held.has(uri.toString());
  }

  private async tell(key: string): Promise<void> {
    const tell = this.held.get(key);
    this.held.delete(key);
    await tell?.();
  }
}

function isUsed(document: vscode.TextDocument): boolean {
  return document.isDirty || isInTab(document.uri.toString());
}

function isInTab(key: string): boolean {
  return vscode.window.tabGroups.all.some(({ tabs }) => tabs.some(({ input }) => input instanceof vscode.TabInputText && input.uri.toString() === key));
}

/** Waits a moment for the editor to see what was written to the disk. */
async function fresh(document: vscode.TextDocument): Promise<void> {
  if (document.isDirty) return;
  const disk = new TextDecoder().decode(await vscode.workspace.fs.readFile(document.uri));
  if (plain(disk) === plain(document.getText())) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      listener.dispose();
      resolve();
    };
    const timer = setTimeout(done, FRESH_MS);
    const listener = vscode.workspace.onDidChangeTextDocument((event) => {
      if (event.document === document && plain(disk) === plain(document.getText())) done();
    });
  });
}

function plain(text: string): string {
  return text.replace(/\r\n?/g, "\n");
}
