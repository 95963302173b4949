/** The todo list as a Markdown document: opened as a file of North's own, so that saving it tells the server. */

import * as vscode from "vscode";

import { reason } from "../common/logger";
import type { Conversations } from "./conversations";
import type { Session } from "./session";

const SCHEME = "north-todo";
interface Told {
  markdown: string;
}

/** One document for each conversation. What the server refuses is not saved, and VS Code says why. */
export class TodoDocuments implements vscode.FileSystemProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  private readonly listeners: vscode.Disposable[];
  /** What each shows, and when it came. */
  private readonly known = new Map<string, { list: string; at: number }>();
  readonly onDidChangeFile = this.changed.event;

  constructor(private readonly conversations: Conversations) {
    this.listeners = [
      this.changed,
      vscode.workspace.registerFileSystemProvider(SCHEME, this, { isCaseSensitive: true }),
      conversations.onState(() => this.lookAgain()),
    ];
  }

  dispose(): void {
    vscode.Disposable.from(...this.listeners).dispose();
  }

  async show(session: Session): Promise<void> {
    await session.open();
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(addressOf(session.id)), { preview: true });
  }

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    const text = await this.readFile(uri);
    return { type: vscode.FileType.File, ctime: 0, mtime: this.known.get(uri.path)?.at ?? 0, size: text.length };
  }

  async readFile(uri: vscode.Uri): Promise<Uint8Array> {
    const session = this.sessionOf(uri);
    const list = JSON.stringify(session.todo);
    if (this.known.get(uri.path)?.list !== list) this.known.set(uri.path, { list, at: Date.now() });
    const { markdown } = await session.ask<Told>("_north/todo/get", {});
    return new TextEncoder().encode(markdown);
  }

  async writeFile(uri: vscode.Uri, content: Uint8Array): Promise<void> {
    const session = this.sessionOf(uri);
    const markdown = new TextDecoder().decode(content);
    await session.ask<Told>("_north/todo/set", { markdown }).catch((error: unknown) => {
      throw vscode.FileSystemError.Unavailable(reason(error));
    });
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => undefined);
  }

  readDirectory(): [string, vscode.FileType][] {
    return [];
  }

  createDirectory(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  delete(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  rename(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  /** A list that is shown is read again when it has changed. */
  private lookAgain(): void {
    for (const { uri } of vscode.workspace.textDocuments) {
      if (uri.scheme !== SCHEME) continue;
      const session = this.conversations.find(idOf(uri))?.session;
      if (session === undefined || this.known.get(uri.path)?.list === JSON.stringify(session.todo)) continue;
      this.changed.fire([{ type: vscode.FileChangeType.Changed, uri }]);
    }
  }

  private sessionOf(uri: vscode.Uri): Session {
    const found = this.conversations.find(idOf(uri));
    if (found === undefined) throw vscode.FileSystemError.FileNotFound(vscode.l10n.t("This conversation is not open any more."));
    return found.session;
  }
}

function addressOf(id: string): vscode.Uri {
  return vscode.Uri.from({ scheme: SCHEME, path: `/${id}/Todo.md` });
}

function idOf(uri: vscode.Uri): string {
  return uri.path.split("/")[1] ?? "";
}
