/** Proposed edits in VS Code's own diff editor: two virtual documents a file, until the user has decided. */

import * as path from "node:path";
import * as vscode from "vscode";

import type { Diff } from "../acp";
import { mainFolder } from "../common/settings";
import { kindOf, type OpenQuestion, type Questions } from "./questions";

export const SCHEME = "north-proposal";

type Side = "before" | "after";

export class Proposals implements vscode.Disposable {
  private readonly texts = new Map<string, string>();
  private readonly listeners: vscode.Disposable[];

  constructor(private readonly questions: Questions) {
    this.listeners = [
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
        provideTextDocumentContent: (uri) => this.texts.get(uri.toString()) ?? "",
      }),
      questions.onAsk((question) => void this.review(question)),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.forget(uri)),
    ];
  }

  dispose(): void {
    vscode.Disposable.from(...this.listeners).dispose();
  }

  /** The edit in the active editor, else the one that has waited longest. */
  current(): OpenQuestion | undefined {
    const edits = this.questions.of("edit");
    const shown = proposalOf(vscode.window.tabGroups.activeTabGroup.activeTab);
    return edits.find((question) => question.id === shown) ?? edits[0];
  }

  /** Opens the diffs of a question; closing them decides nothing. */
  async show(question: OpenQuestion): Promise<void> {
    for (const diff of question.diffs) {
      const [before, after] = [this.document(question, diff, "before"), this.document(question, diff, "after")];
      const title = `${path.basename(diff.path)}: North's proposal`;
      await vscode.commands.executeCommand("vscode.diff", before, after, title, { preview: false, preserveFocus: true });
    }
  }

  private async review(question: OpenQuestion): Promise<void> {
    if (kindOf(question) !== "edit") return;
    await this.show(question);
    await question.done;
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
    await vscode.window.tabGroups.close(
      tabs.filter((tab) => proposalOf(tab) === question.id),
      true,
    );
  }

  private document(question: OpenQuestion, diff: Diff, side: Side): vscode.Uri {
    const folder = mainFolder()?.uri.fsPath;
    const inside = folder !== undefined ? path.relative(folder, diff.path) : diff.path;
    const name = inside.startsWith("..") ? diff.path : `/${inside}`;
    const uri = vscode.Uri.from({ scheme: SCHEME, path: name.replaceAll("\\", "/"), query: `${side}&${question.id}` });
    this.texts.set(uri.toString(), side === "before" ? (diff.oldText ?? "") : diff.newText);
    return uri;
  }

  private forget(uri: vscode.Uri): void {
    if (uri.scheme === SCHEME) this.texts.delete(uri.toString());
  }
}

/** The id of the question that a tab shows the diff of. */
function proposalOf(tab: vscode.Tab | undefined): string | undefined {
  if (!(tab?.input instanceof vscode.TabInputTextDiff) || tab.input.modified.scheme !== SCHEME) return undefined;
  return tab.input.modified.query.split("&")[1];
}
