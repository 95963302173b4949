/** Opening what the conversation mentions. */

import * as vscode from "vscode";

import { reason } from "../common/logger";

export async function openFile(file: string, line: number | null): Promise<void> {
  const at = new vscode.Position(Math.max((line ?? 1) - 1, 0), 0);
  try {
    const document = await vscode.workspace.openTextDocument(vscode.Uri.file(file));
    await vscode.window.showTextDocument(document, { selection: new vscode.Range(at, at) });
  } catch (error) {
    void vscode.window.showWarningMessage(`${file} cannot be opened: ${reason(error)}`);
  }
}

/** A web page, after VS Code has shown its address and asked; nothing else can be opened by a link. */
export async function openLink(address: string): Promise<void> {
  if (/^https?:\/\//i.test(address)) await vscode.env.openExternal(vscode.Uri.parse(address, true));
}
