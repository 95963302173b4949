/** Proposed edits in VS Code's own diff editor. Its right side is what would be applied: rejecting a hunk takes it out
 * there, and the user may type. Accept takes it as it stands. */

import * as path from "node:path";
import * as vscode from "vscode";

import type { Diff, Parts } from "../acp";
import { mainFolder } from "../common/settings";
import { FileReview, type LineChange } from "./hunks";
import { kindOf, type OpenQuestion, type Questions } from "./questions";
import { ProposalTexts, proposalUri, questionOf, SCHEME, sideOf } from "./texts";
import { Typing } from "./typing";

interface ShownFile {
  readonly path: string;
  readonly before: vscode.Uri;
  readonly after: vscode.Uri;
  readonly review: FileReview;
}

export class Proposals implements vscode.Disposable {
  readonly typing = new Typing();
  private readonly texts = new ProposalTexts();
  private readonly shown = new Map<string, ShownFile[]>();
  private readonly marks = {
    accepted: mark("✓ accepted"),
    rejected: mark("✗ rejected"),
  };
  private readonly listeners: vscode.Disposable[];
  private readonly decided = new vscode.EventEmitter<void>();

  /** A hunk was decided. */
  readonly onChange = this.decided.event;

  constructor(private readonly questions: Questions) {
    this.listeners = [
      vscode.workspace.registerFileSystemProvider(SCHEME, this.texts, { isCaseSensitive: true }),
      questions.onAsk((question) => void this.review(question)),
      vscode.workspace.onDidChangeTextDocument((event) => this.follow(event)),
      vscode.window.onDidChangeVisibleTextEditors(() => this.paint()),
      this.typing,
      this.marks.accepted,
      this.marks.rejected,
      this.decided,
    ];
    void closeTabs((id) => id !== undefined); // of an earlier window: nobody waits for them any more
  }

  dispose(): void {
    vscode.Disposable.from(...this.listeners).dispose();
  }

  /** The edit in the active editor, else the one that has waited longest. */
  current(): OpenQuestion | undefined {
    const edits = this.questions.of("edit");
    const shown = shownIn(vscode.window.tabGroups.activeTabGroup.activeTab);
    return edits.find((question) => question.id === shown) ?? edits[0];
  }

  /** Whether single hunks of the edit in the active editor can be decided. */
  get hasHunks(): boolean {
    return this.active() !== undefined;
  }

  /** Opens the diffs of a question; closing them decides nothing. The cursor goes there only if the user asked for it
   * (`focus`): words meant for the chat or for a file must not land in a proposal. */
  async show(question: OpenQuestion, focus: boolean): Promise<void> {
    for (const [index, file] of this.files(question).entries()) {
      const title = `${path.basename(file.path)}: North's proposal`;
      const selection = firstLine(file);
      const options = { preview: false, preserveFocus: !focus || index > 0, selection };
      await vscode.commands.executeCommand("vscode.diff", file.before, file.after, title, options);
    }
  }

  /** Accepts what the right sides show; what was decided before stands. */
  async accept(question: OpenQuestion, kind: "allow_once" | "allow_always" = "allow_once"): Promise<void> {
    const parts = await this.parts(question, "accepted");
    this.questions.chooseKind(question, parts === "nothing" ? "reject_once" : kind, known(parts));
  }

  /** Rejects what is not decided yet: everything, unless single hunks were accepted. */
  async reject(question: OpenQuestion, comment?: string): Promise<void> {
    const accepted = this.files(question).some((file) => file.review.all.some((place) => place.decision === "accepted"));
    const parts = accepted ? await this.parts(question, "rejected") : "nothing";
    const word = comment === undefined ? {} : { comment };
    const told = { ...known(parts), ...word };
    const kind = parts === "nothing" ? "reject_once" : "allow_once";
    this.questions.chooseKind(question, kind, Object.keys(told).length > 0 ? told : undefined);
  }

  /** Decides the hunk at the cursor and goes on to the next one; the last one decides the edit. */
  async decideHunk(decision: "accepted" | "rejected"): Promise<void> {
    const active = this.active();
    if (active === undefined) return;
    const { question, file, editor } = active;
    const place = file.review.at(editor.selection.active.line, sideOf(editor.document.uri));
    if (place === undefined) return;
    if (decision === "rejected") {
      if (!(await this.takeOut(file, place))) return;
      file.review.reject(place.hunk.id);
    } else {
      file.review.accept(place.hunk.id);
    }
    this.paint();
    this.decided.fire();
    const next = this.files(question).find((other) => other.review.undecided.length > 0);
    if (next === undefined) return this.accept(question);
    goTo(next);
  }

  /** Every hunk that is not decided yet gets `rest`; then what is left of each file. */
  private async parts(question: OpenQuestion, rest: "accepted" | "rejected"): Promise<Parts | "all" | "nothing"> {
    const hunks: Record<string, string[]> = {};
    const texts: Record<string, string> = {};
    let whole = true;
    let nothing = true;
    for (const file of this.files(question)) {
      for (const place of rest === "rejected" ? [...file.review.undecided] : []) {
        await this.takeOut(file, place);
        file.review.reject(place.hunk.id);
      }
      const text = await textOf(file.after);
      const standing = file.review.all.filter((place) => place.decision !== "rejected").map((place) => place.hunk.id);
      const isTyped = text !== undefined && !same(text, file.review.decided);
      if (isTyped) texts[file.path] = text;
      else if (standing.length < file.review.all.length) hunks[file.path] = standing;
      const isWhole = !isTyped && standing.length === file.review.all.length;
      if (!isWhole) whole = false;
      else hunks[file.path] = standing;
      if (isTyped ? !same(text, file.review.oldText) : isWhole || standing.length > 0) nothing = false;
    }
    if (whole) return "all";
    return nothing ? "nothing" : { hunks, texts };
  }

  /** Puts the old lines of a hunk in the proposed text. */
  private async takeOut(file: ShownFile, place: FileReview["all"][number]): Promise<boolean> {
    const edit = new vscode.WorkspaceEdit();
    edit.replace(file.after, new vscode.Range(place.start, 0, place.end, 0), file.review.oldLinesOf(place.hunk));
    await vscode.workspace.openTextDocument(file.after);
    return vscode.workspace.applyEdit(edit);
  }

  /** Tells of an edit without opening it, until it is decided; the link decides nothing. */
  private offer(question: OpenQuestion): Thenable<void> {
    const [first, ...others] = question.diffs.map(({ path: file }) => path.basename(file));
    const more = others.length > 0 ? ` and ${others.length} more` : "";
    const title = `North proposes to change ${plain(first ?? "")}${more}. [Show Changes](command:north.showChanges)`;
    return vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title }, () => question.done);
  }

  private async review(question: OpenQuestion): Promise<void> {
    if (kindOf(question) !== "edit") return;
    if (this.typing.inFile) void this.offer(question);
    else await this.show(question, false);
    await question.done;
    const files = this.shown.get(question.id) ?? [];
    for (const { after } of files) {
      // A document that was typed in would ask whether to save it.
      const document = vscode.workspace.textDocuments.find((open) => open.uri.toString() === after.toString());
      if (document?.isDirty) await document.save();
    }
    await closeTabs((id) => id === question.id);
    for (const { before, after } of files) [before, after].forEach((uri) => this.texts.forget(uri));
    this.shown.delete(question.id);
  }

  private files(question: OpenQuestion): ShownFile[] {
    const known = this.shown.get(question.id);
    if (known !== undefined) return known;
    const files = question.diffs.map((diff) => this.makeFile(question, diff));
    this.shown.set(question.id, files);
    return files;
  }

  private makeFile(question: OpenQuestion, diff: Diff): ShownFile {
    const name = nameOf(diff.path);
    const [before, after] = [proposalUri(name, "before", question.id), proposalUri(name, "after", question.id)];
    this.texts.put(before, diff.oldText ?? "");
    this.texts.put(after, diff.newText);
    const review = new FileReview(diff.oldText ?? "", diff.newText, question.hunks.get(diff.path) ?? []);
    return { path: diff.path, before, after, review };
  }

  private active(): { question: OpenQuestion; file: ShownFile; editor: vscode.TextEditor } | undefined {
    const editor = vscode.window.activeTextEditor;
    const id = editor === undefined ? undefined : questionOf(editor.document.uri);
    const question = this.questions.open.find((open) => open.id === id);
    if (editor === undefined || question === undefined) return undefined;
    const uri = editor.document.uri.toString();
    const file = this.files(question).find(({ before, after }) => [before.toString(), after.toString()].includes(uri));
    return file !== undefined && file.review.undecided.length > 0 ? { question, file, editor } : undefined;
  }

  private follow(event: vscode.TextDocumentChangeEvent): void {
    const { uri } = event.document;
    const file = this.shown.get(questionOf(uri) ?? "")?.find(({ after }) => after.toString() === uri.toString());
    if (file === undefined) return;
    for (const { range, text } of event.contentChanges) {
      file.review.changed(lineChange(range, text));
    }
    this.paint();
  }

  private paint(): void {
    const files = [...this.shown.values()].flat();
    for (const editor of vscode.window.visibleTextEditors) {
      const file = files.find(({ after }) => after.toString() === editor.document.uri.toString());
      if (file === undefined) continue;
      for (const decision of ["accepted", "rejected"] as const) {
        const places = file.review.all.filter((place) => place.decision === decision);
        editor.setDecorations(
          this.marks[decision],
          places.map((place) => new vscode.Range(place.start + place.lead, 0, place.start + place.lead, 0)),
        );
      }
    }
  }
}

function mark(text: string): vscode.TextEditorDecorationType {
  return vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    after: { contentText: text, margin: "0 0 0 3em", color: new vscode.ThemeColor("descriptionForeground") },
  });
}

function known(parts: Parts | "all" | "nothing"): Parts | undefined {
  return typeof parts === "string" ? undefined : parts;
}

/** A change of whole lines ends before its last line, which it does not touch. */
function lineChange({ start, end }: vscode.Range, text: string): LineChange {
  const isWhole = start.character === 0 && end.character === 0 && (text.endsWith("\n") || text === "");
  const lines = text.split("\n").length;
  return isWhole ? { first: start.line, last: end.line - 1, lines: lines - 1 } : { first: start.line, last: end.line, lines };
}

/** The text as the user sees it, saved or not; undefined if it was never opened. */
async function textOf(uri: vscode.Uri): Promise<string | undefined> {
  const open = vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri.toString());
  return open?.getText();
}

/** VS Code gives every line of a document the same end: such a difference is not the user's. */
function same(one: string, two: string): boolean {
  return one.replaceAll("\r\n", "\n") === two.replaceAll("\r\n", "\n");
}

function nameOf(file: string): string {
  const folder = mainFolder()?.uri.fsPath;
  const inside = folder === undefined ? file : path.relative(folder, file);
  return (inside.startsWith("..") ? file : inside).replaceAll("\\", "/");
}

/** A name in a notification, which would read a link in it. */
function plain(name: string): string {
  return name.replace(/[[\]()]/g, "·");
}

function firstLine(file: ShownFile): vscode.Range {
  const [place] = file.review.undecided;
  const line = place === undefined ? 0 : place.start + place.lead;
  return new vscode.Range(line, 0, line, 0);
}

function goTo(file: ShownFile): void {
  const editor = vscode.window.visibleTextEditors.find(({ document }) => document.uri.toString() === file.after.toString());
  if (editor === undefined) return;
  const range = firstLine(file);
  editor.selection = new vscode.Selection(range.start, range.start);
  editor.revealRange(range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}

async function closeTabs(which: (questionId: string | undefined) => boolean): Promise<void> {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  const ours = tabs.filter((tab) => {
    const id = shownIn(tab);
    return id !== undefined && which(id);
  });
  await vscode.window.tabGroups.close(ours, true);
}

/** The id of the question that a tab shows the diff of. */
function shownIn(tab: vscode.Tab | undefined): string | undefined {
  return tab?.input instanceof vscode.TabInputTextDiff ? questionOf(tab.input.modified) : undefined;
}
