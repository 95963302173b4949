/** What a turn has changed: each file as it was before it, against what it is now, which can be written in. */

import * as path from "node:path";
import * as vscode from "vscode";

import type { Session } from "../chat/session";
import { showInfo } from "../common/notices";
import type { Turn } from "./checkpoints";
import { closeTabs } from "./tabs";
import { unapply } from "./unapply";

const SCHEME = "north-before";

export class TurnDiffs implements vscode.TextDocumentContentProvider, vscode.Disposable {
  /** As long as a document is open that shows them. */
  private readonly texts = new Map<string, string>();
  private readonly listeners: vscode.Disposable[];
  private made = 0;

  constructor() {
    this.listeners = [
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.texts.delete(uri.toString())),
    ];
    void closeTabs(() => false, SCHEME); // of an earlier window: their texts are not known any more
  }

  dispose(): void {
    vscode.Disposable.from(...this.listeners).dispose();
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.toString()) ?? "";
  }

  /** Opens the diffs of a turn's files. */
  async show(session: Session, turn: Turn): Promise<void> {
    const { files } = await session.ask<{ files: { path: string; diff: string }[] }>("_north/checkpoints/changes", { since: turn.first });
    const wanted = files.filter((file) => turn.paths.includes(file.path));
    const rows: [vscode.Uri, vscode.Uri | undefined, vscode.Uri][] = [];
    for (const { path: file, diff } of wanted) {
      const now = await textOf(file);
      const before = unapply(now ?? "", diff);
      if (before === undefined || !diff.includes("@@")) continue; // no text, or changed at this very moment
      const uri = vscode.Uri.file(file);
      // Against an empty text, VS Code would show an empty line as removed.
      rows.push([uri, before === "" ? undefined : this.keep(file, before), now === undefined ? this.keep(file, "") : uri]);
    }
    const [first] = rows;
    if (first === undefined) {
      void showInfo(vscode.l10n.t("North: these files have not changed, or are not text."));
    } else if (rows.length === 1 && first[1] !== undefined) {
      const [uri, before, now] = first;
      await vscode.commands.executeCommand("vscode.diff", before, now, vscode.l10n.t("{0}: changed by North", path.basename(uri.fsPath)));
    } else {
      await vscode.commands.executeCommand("vscode.changes", vscode.l10n.t("Changed by North"), rows);
    }
  }

  private keep(file: string, text: string): vscode.Uri {
    this.made += 1;
    const uri = vscode.Uri.file(file).with({ scheme: SCHEME, query: String(this.made) });
    this.texts.set(uri.toString(), text);
    return uri;
  }
}

/** Undefined for a file that is not there. */
async function textOf(file: string): Promise<string | undefined> {
  try {
    return (await vscode.workspace.openTextDocument(file)).getText();
  } catch {
    return undefined;
  }
}
