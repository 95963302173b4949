/** Diagrams of answers, drawn by VS Code itself: its preview of Markdown shows them, in its own sandbox. */

import * as vscode from "vscode";

import { fenced } from "../common/fences";

const SCHEME = "north-diagram";
/** What was shown, by the addresses of documents that nobody can change. */
const shown = new Map<string, string>();
let registered: vscode.Disposable | undefined;

export async function showDiagram({ text, language }: { text: string; language: string }): Promise<void> {
  registered ??= vscode.workspace.registerTextDocumentContentProvider(SCHEME, { provideTextDocumentContent: ({ path }) => shown.get(path) });
  const markdown = fenced(text, language);
  const known = [...shown].find(([, other]) => other === markdown)?.[0];
  const path = known ?? `/${vscode.l10n.t("Diagram {0}", shown.size + 1)}.md`;
  shown.set(path, markdown);
  await vscode.commands.executeCommand("markdown.showPreview", vscode.Uri.from({ scheme: SCHEME, path }));
}
