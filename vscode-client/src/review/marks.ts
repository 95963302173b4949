/** What is decided, beside the hunks of a proposal; and in the open files the lines that a proposal would change. */

import * as vscode from "vscode";

import { oldRange, type Place } from "./hunks";
import type { ProposedFile } from "./proposal";
import type { Proposals } from "./proposals";
import type { Review } from "./review";
import { isNew, isShownAlone, rangeOf } from "./tabs";
import { SCHEME, sideOf } from "./texts";

type Mark = "accepted" | "rejected" | "changed";

export class Marks implements vscode.Disposable {
  private readonly marks = {
    accepted: mark(`✓ ${vscode.l10n.t("accepted")}`),
    rejected: mark(`✗ ${vscode.l10n.t("rejected")}`),
    changed: mark(`✎ ${vscode.l10n.t("changed")}`),
  };
  private readonly target = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    borderColor: new vscode.ThemeColor("editorGutter.modifiedBackground"),
    borderStyle: "solid",
    borderWidth: "0 0 0 2px",
    overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.modifiedForeground"),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
  });
  /** A new file stands alone: its lines look as they do in a diff. */
  private readonly added = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor("diffEditor.insertedLineBackground"),
  });
  private readonly listeners: vscode.Disposable[];

  constructor(private readonly proposals: Proposals) {
    const paint = (): void => vscode.window.visibleTextEditors.forEach((editor) => this.paint(editor));
    this.listeners = [
      proposals.onChange(paint),
      vscode.window.onDidChangeVisibleTextEditors(paint),
      vscode.window.tabGroups.onDidChangeTabs(() => {
        if (this.proposals.open.length > 0) paint();
      }),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        if (document.uri.scheme === "file" && this.proposals.open.length > 0) paint();
      }),
      ...Object.values(this.marks),
      this.target,
      this.added,
    ];
  }

  dispose(): void {
    vscode.Disposable.from(...this.listeners).dispose();
  }

  private paint(editor: vscode.TextEditor): void {
    const { document } = editor;
    if (document.uri.scheme === SCHEME) return this.paintProposal(editor);
    if (document.uri.scheme === "file") editor.setDecorations(this.target, this.targets(document));
  }

  private paintProposal(editor: vscode.TextEditor): void {
    const { uri } = editor.document;
    const found = sideOf(uri) === "after" ? this.proposals.find(uri) : undefined;
    if (found === undefined) return;
    const places = found.file.places();
    const { lineCount } = editor.document;
    const last = Math.max(editor.document.lineAt(lineCount - 1).isEmptyOrWhitespace ? lineCount - 2 : lineCount - 1, 0);
    const isAlone = isNew(found.file) && isShownAlone(uri) && found.file.verdict !== "rejected";
    editor.setDecorations(this.added, isAlone ? [new vscode.Range(0, 0, last, 0)] : []);
    for (const wanted of ["accepted", "rejected", "changed"] as const) {
      editor.setDecorations(this.marks[wanted], places.filter((place) => markOf(place) === wanted).map(rangeOf));
    }
  }

  private targets(document: vscode.TextDocument): vscode.DecorationOptions[] {
    return this.proposals.open.flatMap((review) =>
      review.shown
        .filter((file) => (file.change.oldPath ?? file.path) === document.uri.fsPath && isOldText(file, document))
        .flatMap((file) => targetsOf(review, file)),
    );
  }
}

/** Only then its line numbers are those of the proposal. */
function isOldText({ diff }: ProposedFile, document: vscode.TextDocument): boolean {
  return diff?.oldText?.replaceAll("\r\n", "\n") === document.getText().replaceAll("\r\n", "\n");
}

function targetsOf(review: Review, file: ProposedFile): vscode.DecorationOptions[] {
  const argument = encodeURIComponent(JSON.stringify([{ question: review.question.id, path: file.path }]));
  const hover = new vscode.MarkdownString(
    `${vscode.l10n.t("North proposes to change this.")} [${vscode.l10n.t("Show Changes")}](command:north.showFileChanges?${argument})`,
  );
  hover.isTrusted = { enabledCommands: ["north.showFileChanges"] };
  return file
    .places()
    .filter((place) => place.standing !== "rejected")
    .map((place) => {
      const [start, end] = oldRange(place.hunk);
      const first = Math.min(start + place.lead, Math.max(end - 1, start));
      return { range: new vscode.Range(first, 0, Math.max(end - 1 - place.trail, first), 0), hoverMessage: hover };
    });
}

function markOf({ standing, ticked }: Place): Mark | undefined {
  if (standing === "rejected") return "rejected";
  return ticked ? "accepted" : standing === "changed" ? "changed" : undefined;
}

function mark(text: string): vscode.TextEditorDecorationType {
  return vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    after: { contentText: text, margin: "0 0 0 3em", color: new vscode.ThemeColor("descriptionForeground") },
  });
}
