/** The two sides of a proposal as documents: the old text, which cannot be changed, and the proposed one, which can. */

import * as vscode from "vscode";

import { OwnDocuments } from "../common/documents";

export const SCHEME = "north-proposal";

export type Side = "before" | "after";

export class ProposalTexts extends OwnDocuments {
  private readonly files = new Map<string, { data: Uint8Array; time: number }>();

  put(uri: vscode.Uri, text: string): void {
    this.files.set(uri.toString(), { data: new TextEncoder().encode(text), time: Date.now() });
  }

  has(uri: vscode.Uri): boolean {
    return this.files.has(uri.toString());
  }

  read(uri: vscode.Uri): string {
    return new TextDecoder().decode(this.file(uri).data);
  }

  /** An editor that shows it, with nothing unsaved, reads it again. */
  write(uri: vscode.Uri, text: string): void {
    this.writeFile(uri, new TextEncoder().encode(text));
  }

  forget(uri: vscode.Uri): void {
    this.files.delete(uri.toString());
  }

  stat(uri: vscode.Uri): vscode.FileStat {
    const { data, time } = this.file(uri);
    const stat = { type: vscode.FileType.File, ctime: time, mtime: time, size: data.length };
    return sideOf(uri) === "before" ? { ...stat, permissions: vscode.FilePermission.Readonly } : stat;
  }

  readFile(uri: vscode.Uri): Uint8Array {
    return this.file(uri).data;
  }

  writeFile(uri: vscode.Uri, data: Uint8Array): void {
    const { time } = this.file(uri);
    if (sideOf(uri) === "before") throw vscode.FileSystemError.NoPermissions(uri);
    // A file that has not become younger counts as unchanged.
    this.files.set(uri.toString(), { data, time: Math.max(Date.now(), time + 1) });
    this.tellChanged(uri);
  }

  private file(uri: vscode.Uri): { data: Uint8Array; time: number } {
    const file = this.files.get(uri.toString());
    if (file === undefined) throw vscode.FileSystemError.FileNotFound(uri);
    return file;
  }
}

/** `name` is what the document is called in the editor. */
export function proposalUri(name: string, side: Side, questionId: string): vscode.Uri {
  const path = name.startsWith("/") ? name : `/${name}`;
  return vscode.Uri.from({ scheme: SCHEME, path, query: `${side}&${questionId}` });
}

export function sideOf(uri: vscode.Uri): Side {
  return uri.query.startsWith("before&") ? "before" : "after";
}

export function questionOf(uri: vscode.Uri): string | undefined {
  return uri.scheme === SCHEME ? uri.query.split("&")[1] : undefined;
}
