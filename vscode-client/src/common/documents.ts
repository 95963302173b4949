/** What documents of North's own have in common as files of VS Code: they are single, and neither made, moved nor removed by anybody else. */

import * as vscode from "vscode";

export abstract class OwnDocuments implements vscode.FileSystemProvider {
  protected readonly changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.changed.event;

  abstract stat(uri: vscode.Uri): vscode.FileStat | Thenable<vscode.FileStat>;
  abstract readFile(uri: vscode.Uri): Uint8Array | Thenable<Uint8Array>;
  abstract writeFile(uri: vscode.Uri, content: Uint8Array): void | Thenable<void>;

  /** Whoever shows one has it read again. */
  protected tellChanged(uri: vscode.Uri): void {
    this.changed.fire([{ type: vscode.FileChangeType.Changed, uri }]);
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
}
