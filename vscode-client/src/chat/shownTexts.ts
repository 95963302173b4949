/** Texts that are only looked at, as read-only documents: what a summary replaced, the whole output of a command. */

import * as vscode from "vscode";

const SCHEME = "north-text";
/** Of documents that are open. */
const texts = new Map<string, string>();
let registered: vscode.Disposable | undefined;

/** Opens a text under a title; `id` tells it from others of that title. */
export async function showText(title: string, id: string, text: string): Promise<void> {
  registered ??= vscode.Disposable.from(
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, { provideTextDocumentContent: (address) => texts.get(address.toString()) ?? "" }),
    vscode.workspace.onDidCloseTextDocument(({ uri }) => void texts.delete(uri.toString())),
  );
  const address = vscode.Uri.from({ scheme: SCHEME, path: `/${title}.txt`, query: id });
  texts.set(address.toString(), text);
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(address), { preview: true });
}
