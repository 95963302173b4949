/** Proposed edits that wait for the user. The right side of a diff is what would be applied: rejecting a hunk takes it out
 * there, and the user may type. What is decided piece by piece is sent once nothing is open any more. */

import * as path from "node:path";
import * as vscode from "vscode";

import type { Parts } from "../acp";
import { showUntil, showWarning } from "../common/notices";
import type { Place } from "./hunks";
import type { Answer, ProposedFile } from "./proposal";
import type { OpenQuestion, Questions } from "./questions";
import { Review, describeAnswer } from "./review";
import { closeTabs, documentIn, goTo, openAll, openFile, shownIn } from "./tabs";
import { ProposalTexts, questionOf, SCHEME, sideOf } from "./texts";
import { TypingWatch } from "./typing";
import { ProposalDocuments } from "./proposalDocuments";

export type Decision = "accepted" | "rejected" | "open";

/** A file of a proposal, or one of its hunks. */
export interface Target {
  question: string;
  path: string;
  hunk?: string;
}

interface Found {
  review: Review;
  file: ProposedFile;
}

export class Proposals implements vscode.Disposable {
  readonly typing = new TypingWatch();
  private readonly texts = new ProposalTexts();
  private readonly writing = new ProposalDocuments(this.texts);
  private readonly reviews = new Map<string, Review>();
  private readonly listeners: vscode.Disposable[];
  private readonly changed = new vscode.EventEmitter<void>();

  /** Something was decided, or written in a proposal. */
  readonly onChange = this.changed.event;

  constructor(private readonly questions: Questions) {
    this.listeners = [
      vscode.workspace.registerFileSystemProvider(SCHEME, this.texts, { isCaseSensitive: true }),
      questions.onAsk((question) => void this.wait(question)),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        if (questionOf(document.uri) !== undefined) this.changed.fire();
      }),
      this.writing,
      this.typing,
      this.changed,
    ];
    void closeTabs(() => true); // of an earlier window: nobody waits for them any more
  }

  dispose(): void {
    vscode.Disposable.from(...this.listeners).dispose();
  }

  /** Those that wait, oldest first. */
  get open(): Review[] {
    return this.questions.of("edit").map((question) => this.reviewOf(question));
  }

  /** The edit in the active editor, else the one that has waited longest. */
  current(): OpenQuestion | undefined {
    const edits = this.questions.of("edit");
    const shown = shownIn(vscode.window.tabGroups.activeTabGroup.activeTab);
    return edits.find((question) => question.id === shown) ?? edits[0];
  }

  /** Whether the cursor is in a proposal that has hunks to decide. */
  get hasHunks(): boolean {
    const active = this.active();
    return active !== undefined && active.file.undecided().length > 0;
  }

  /** The side of a proposal that has the cursor. */
  active(): (Found & { editor: vscode.TextEditor }) | undefined {
    const editor = vscode.window.activeTextEditor;
    const found = editor === undefined ? undefined : this.find(editor.document.uri);
    return editor === undefined || found === undefined ? undefined : { ...found, editor };
  }

  /** What a document or a row of a list stands for, if it still waits. */
  find(what: vscode.Uri | Target): Found | undefined {
    const id = what instanceof vscode.Uri ? questionOf(what) : what.question;
    const review = this.open.find(({ question }) => question.id === id);
    const file = what instanceof vscode.Uri ? review?.fileOf(what) : review?.find(what.path);
    return review === undefined || file === undefined ? undefined : { review, file };
  }

  /** Opens the diffs of a question; closing them decides nothing. An editor with several diffs takes the cursor, so it
   * opens only when the user has asked for it. */
  async show(question: OpenQuestion, focus: boolean): Promise<void> {
    const review = this.reviewOf(question);
    const [first, ...others] = review.shown;
    if (first === undefined) return;
    if (focus && others.length > 0) return openAll(review);
    await openFile(review, review.shown.find((file) => file.verdict === "open") ?? first, focus);
  }

  async showFile({ review, file }: Found): Promise<void> {
    if (file.diff !== undefined) await openFile(review, file, true);
  }

  /** Accepts what the right sides show, the rest included. */
  async accept(question: OpenQuestion, lasts?: "project" | "session"): Promise<void> {
    const more = lasts === "session" ? { scope: lasts } : {};
    this.settle(question, lasts === "project" ? "allow_always" : "allow_once", this.reviewOf(question).proposal.answer(), more);
  }

  /** Rejects what is not decided yet: everything, unless the user has ticked something. */
  async reject(question: OpenQuestion, comment?: string): Promise<void> {
    const { proposal } = this.reviewOf(question);
    if (proposal.anythingTicked) await proposal.rejectRest();
    const more = comment === undefined ? {} : { comment };
    this.settle(question, "allow_once", proposal.anythingTicked ? proposal.answer() : { what: "nothing" }, more);
  }

  async decideFile(found: Found, decision: Decision): Promise<void> {
    const { file } = found;
    if (decision === "accepted") {
      if (file.verdict === "rejected") await file.reopen();
      file.accept();
    } else if (decision === "rejected") {
      if (!(await file.reject())) return;
    } else await file.reopen();
    this.changed.fire();
    if (decision !== "open") await this.goOn(found, Infinity);
  }

  /** Decides a hunk (the one at the cursor, if none is named) and goes on to the next one. */
  async decideHunk(found: Found, hunkId: string | undefined, decision: Decision): Promise<void> {
    const { file } = found;
    const place = hunkId === undefined ? this.atCursor(found) : file.placeOf(hunkId);
    if (place === undefined) return this.go(1);
    if (decision === "open") await file.reopenHunk(place);
    else if (decision === "accepted") file.acceptHunk(place.hunk);
    else if (!(await file.rejectHunk(place))) return;
    this.changed.fire();
    if (decision !== "open") await this.goOn(found, place.start);
  }

  /** Goes to the next (or the previous) place that is not decided yet, in whichever file. */
  async go(way: 1 | -1): Promise<void> {
    const active = this.active();
    const question = this.current();
    if (question === undefined) return;
    const review = active?.review ?? this.reviewOf(question);
    const from = active?.file ?? review.files[0];
    if (from === undefined) return;
    const next = review.proposal.next(from, active === undefined ? -1 : this.line(active), way);
    if (next === undefined || next.file.diff === undefined) return;
    if (next.file !== active?.file || !goTo(review, next.file, next.place)) await openFile(review, next.file, true, next.place);
  }

  /** The undecided hunk at the cursor, else the one nearest to it. */
  private atCursor({ file }: Found): Place | undefined {
    const active = this.active();
    if (active?.file !== file) return undefined;
    const { document, selection } = active.editor;
    return file.at(selection.active.line, sideOf(document.uri));
  }

  /** The first line of the hunk that the cursor is in, else the cursor's. */
  private line({ file, editor }: Found & { editor: vscode.TextEditor }): number {
    const { line } = editor.selection.active;
    return file.places().find(({ start, end }) => start <= line && line < Math.max(end, start + 1))?.start ?? line;
  }

  /** After a decision: the answer if it was the last one, else the next open place if the user is in the diff. An editor
   * with all files stays where it is. */
  private async goOn({ review, file }: Found, line: number): Promise<void> {
    const { proposal, question } = review;
    const next = proposal.next(file, line);
    if (next === undefined) return this.settle(question, "allow_once", proposal.answer(), {});
    const tab = vscode.window.tabGroups.activeTabGroup.activeTab;
    if (shownIn(tab) !== question.id || next.file.diff === undefined) return;
    const shown = documentIn(tab);
    if (shown !== undefined && review.fileOf(shown) !== file) return; // decided in the list
    if (next.file === file || shown === undefined) goTo(review, next.file, next.place);
    else await openFile(review, next.file, true, next.place);
  }

  private settle(question: OpenQuestion, kind: "allow_once" | "allow_always", answer: Answer, more: Parts): void {
    if (answer.what === "impossible") {
      const name = path.basename(answer.file.path);
      void showWarning(
        vscode.l10n.t(
          "North: {0} is to be deleted, so its right side cannot hold another text. Undo the change there, or reject the file to keep it.",
          name,
        ),
      );
      return;
    }
    const told = answer.what === "parts" ? { ...answer.parts, ...more } : more;
    const chosen = answer.what === "nothing" ? "reject_once" : kind;
    this.questions.chooseKind(question, chosen, Object.keys(told).length > 0 ? told : undefined, describeAnswer(answer));
  }

  /** Tells of an edit without opening it, until it is decided; the link decides nothing. */
  private offer(question: OpenQuestion): Thenable<void> {
    const [first = "", ...others] = question.diffs.map(({ path: file }) => path.basename(file));
    const what = others.length > 0 ? vscode.l10n.t("{0} and {1} more", first, others.length) : first;
    return showUntil(question.done, vscode.l10n.t("North proposes to change {0}.", what), vscode.l10n.t("Show Changes"), "showChanges");
  }

  private async wait(question: OpenQuestion): Promise<void> {
    if (question.kind !== "edit") return;
    this.changed.fire();
    if (question.diffs.length > 0) {
      if (this.typing.inFile) void this.offer(question);
      else await this.show(question, false);
    }
    await question.done;
    this.changed.fire(); // the list is up to date before its editors are closed
    await this.writing.finish(question.id);
    await closeTabs((id) => id === question.id);
    this.reviews.get(question.id)?.forget();
    this.reviews.delete(question.id);
    this.changed.fire();
  }

  private reviewOf(question: OpenQuestion): Review {
    const known = this.reviews.get(question.id);
    if (known !== undefined) return known;
    const review = new Review(question, this.texts, this.writing);
    this.reviews.set(question.id, review);
    return review;
  }
}
