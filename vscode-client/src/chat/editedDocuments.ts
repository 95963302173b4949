/** The todo list and the goal as Markdown documents: opened as files of North's own, so that saving one tells the server. */

import * as vscode from "vscode";

import { OwnDocuments } from "../common/documents";
import { reason } from "../common/logger";
import type { Conversations } from "./conversations";
import type { Session } from "./session";

interface Told {
  markdown: string;
}

/** A part of a conversation that has a document. */
interface Part {
  scheme: string;
  /** The document's. */
  name: string;
  /** The server's methods about it are called `_north/<method>/get` and `…/set`. */
  method: string;
  /** What changes when the document does. */
  now(session: Session): unknown;
}

const TODO: Part = { scheme: "north-todo", name: "Todo.md", method: "todo", now: ({ todo }) => todo };
const GOAL: Part = { scheme: "north-goal", name: "Goal.md", method: "goal", now: ({ work }) => work.goal };

export function todoDocuments(conversations: Conversations): EditedDocuments {
  return new EditedDocuments(conversations, TODO);
}

export function goalDocuments(conversations: Conversations): EditedDocuments {
  return new EditedDocuments(conversations, GOAL);
}

/** One document for each conversation. What the server refuses is not saved, and VS Code says why. */
export class EditedDocuments extends OwnDocuments implements vscode.Disposable {
  private readonly listeners: vscode.Disposable[];
  /** What each shows, and when it came. */
  private readonly known = new Map<string, { part: string; at: number }>();

  constructor(
    private readonly conversations: Conversations,
    private readonly part: Part,
  ) {
    super();
    this.listeners = [
      this.changed,
      vscode.workspace.registerFileSystemProvider(part.scheme, this, { isCaseSensitive: true }),
      conversations.onState(() => this.lookAgain()),
    ];
  }

  dispose(): void {
    vscode.Disposable.from(...this.listeners).dispose();
  }

  async show(session: Session): Promise<void> {
    await session.open();
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(this.addressOf(session.id)), { preview: true });
  }

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    const text = await this.readFile(uri);
    return { type: vscode.FileType.File, ctime: 0, mtime: this.known.get(uri.path)?.at ?? 0, size: text.length };
  }

  async readFile(uri: vscode.Uri): Promise<Uint8Array> {
    const session = this.sessionOf(uri);
    const part = this.shownOf(session);
    if (this.known.get(uri.path)?.part !== part) this.known.set(uri.path, { part, at: Date.now() });
    const { markdown } = await session.ask<Told>(`_north/${this.part.method}/get`, {});
    return new TextEncoder().encode(markdown);
  }

  async writeFile(uri: vscode.Uri, content: Uint8Array): Promise<void> {
    const session = this.sessionOf(uri);
    const markdown = new TextDecoder().decode(content);
    await session.ask<Told>(`_north/${this.part.method}/set`, { markdown }).catch((error: unknown) => {
      throw vscode.FileSystemError.Unavailable(reason(error));
    });
  }

  /** A document that is shown is read again when its part has changed. */
  private lookAgain(): void {
    for (const { uri } of vscode.workspace.textDocuments) {
      if (uri.scheme !== this.part.scheme) continue;
      const session = this.conversations.find(idOf(uri))?.session;
      if (session === undefined || this.known.get(uri.path)?.part === this.shownOf(session)) continue;
      this.tellChanged(uri);
    }
  }

  private shownOf(session: Session): string {
    return JSON.stringify(this.part.now(session));
  }

  private addressOf(id: string): vscode.Uri {
    return vscode.Uri.from({ scheme: this.part.scheme, path: `/${id}/${this.part.name}` });
  }

  private sessionOf(uri: vscode.Uri): Session {
    const found = this.conversations.find(idOf(uri));
    if (found === undefined) throw vscode.FileSystemError.FileNotFound(vscode.l10n.t("This conversation is not open any more."));
    return found.session;
  }
}

function idOf(uri: vscode.Uri): string {
  return uri.path.split("/")[1] ?? "";
}
