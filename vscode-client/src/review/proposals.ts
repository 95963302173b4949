/** Proposed edits in VS Code's own diff editor. Its right side is what would be applied: rejecting a hunk takes it out
 * there, and the user may type. Accept takes it as it stands, whatever put it there. */

import * as path from "node:path";
import * as vscode from "vscode";

import type { Diff, Parts } from "../acp";
import { mainFolder } from "../common/settings";
import { FileReview, type Place } from "./hunks";
import type { OpenQuestion, Questions } from "./questions";
import { ProposalTexts, proposalUri, questionOf, SCHEME, sideOf } from "./texts";
import { Typing } from "./typing";

interface ShownFile {
  readonly path: string;
  readonly before: vscode.Uri;
  readonly after: vscode.Uri;
  readonly review: FileReview;
  /** It goes, or stays as it is: its right side is no text that could be changed. */
  readonly isDeletion: boolean;
}

type Mark = "accepted" | "rejected" | "changed";

export class Proposals implements vscode.Disposable {
  readonly typing = new Typing();
  private readonly texts = new ProposalTexts();
  private readonly shown = new Map<string, ShownFile[]>();
  private readonly marks = {
    accepted: mark("✓ accepted"),
    rejected: mark("✗ rejected"),
    changed: mark("✎ changed"),
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
      this.marks.changed,
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
      await this.showFile(file, focus && index === 0);
    }
  }

  private async showFile(file: ShownFile, focus: boolean): Promise<void> {
    const title = `${path.basename(file.path)}: North's proposal`;
    const selection = placeOf(file.review.undecided(this.textOf(file))[0]);
    const options = { preview: false, preserveFocus: !focus, selection };
    await vscode.commands.executeCommand("vscode.diff", file.before, file.after, title, options);
  }

  /** Accepts what the right sides show. */
  async accept(question: OpenQuestion, kind: "allow_once" | "allow_always" = "allow_once", comment?: string): Promise<void> {
    this.settle(question, kind, this.parts(question), comment);
  }

  /** Rejects what is not decided yet: everything, unless the user has ticked single hunks. */
  async reject(question: OpenQuestion, comment?: string): Promise<void> {
    const files = this.files(question);
    const ticked = files.some((file) => file.review.places(this.textOf(file)).some((place) => place.ticked && place.standing !== "rejected"));
    if (!ticked) return this.settle(question, "allow_once", "nothing", comment);
    for (const file of files) {
      for (const place of file.review.undecided(this.textOf(file)).reverse()) await this.takeOut(file, place);
    }
    this.settle(question, "allow_once", this.parts(question, "named"), comment);
  }

  /** Decides the hunk at the cursor and goes on to the next one; the last one decides the edit. */
  async decideHunk(decision: "accepted" | "rejected"): Promise<void> {
    const active = this.active();
    if (active === undefined) return;
    const { question, file, editor } = active;
    const place = file.review.at(this.textOf(file), editor.selection.active.line, sideOf(editor.document.uri));
    if (place === undefined) return;
    if (decision === "accepted") file.review.tick(place.hunk);
    else if (!(await this.takeOut(file, place))) return;
    this.paint();
    this.decided.fire();
    const rest = file.review.undecided(this.textOf(file));
    const next = rest.find((other) => other.start > place.start) ?? rest[0];
    if (next !== undefined) return goTo(file, next);
    const other = this.files(question).find((one) => one.review.undecided(this.textOf(one)).length > 0);
    if (other === undefined) return this.accept(question);
    await this.showFile(other, true);
  }

  private settle(
    question: OpenQuestion,
    kind: "allow_once" | "allow_always",
    parts: Parts | "all" | "nothing" | undefined,
    comment: string | undefined,
  ): void {
    if (parts === undefined) return;
    const word = comment === undefined ? {} : { comment };
    const told = typeof parts === "string" ? word : { ...parts, ...word };
    this.questions.chooseKind(question, parts === "nothing" ? "reject_once" : kind, Object.keys(told).length > 0 ? told : undefined);
  }

  /** What the right sides leave of a proposal; undefined if that cannot be done. What has no text to compare (a binary
   * file, a folder) stands with all the `rest`, or has to be `named`. */
  private parts(question: OpenQuestion, rest: "rest" | "named" = "rest"): Parts | "all" | "nothing" | undefined {
    const hunks: Record<string, string[]> = {};
    const texts: Record<string, string> = {};
    const files = this.files(question);
    const others = [...question.hunks.keys()].filter((name) => !files.some((file) => file.path === name));
    let whole = rest === "rest" || others.length === 0;
    let nothing = rest === "named" || others.length === 0;
    for (const name of rest === "rest" ? others : []) hunks[name] = [];
    for (const file of files) {
      const text = this.textOf(file);
      const standing = file.review.standing(text);
      if (standing === undefined && file.isDeletion) {
        const name = path.basename(file.path);
        void vscode.window.showWarningMessage(
          `North: ${name} is to be deleted, so its right side cannot hold another text. Undo the change there, or reject the hunk to keep the file.`,
        );
        return undefined;
      }
      if (standing === undefined) texts[file.path] = text;
      else if (standing.length > 0 || !file.review.isOld(text)) hunks[file.path] = standing;
      if (standing === undefined || file.review.places(text).length !== standing.length) whole = false;
      if (!file.review.isOld(text)) nothing = false;
    }
    if (whole) return "all";
    return nothing ? "nothing" : { hunks, texts };
  }

  /** The right side as the user sees it, saved or not. */
  private textOf(file: ShownFile): string {
    const open = vscode.workspace.textDocuments.find((document) => document.uri.toString() === file.after.toString());
    return open?.getText() ?? new TextDecoder().decode(this.texts.readFile(file.after));
  }

  /** Puts the old lines of a hunk in the proposed text. */
  private async takeOut(file: ShownFile, place: Place): Promise<boolean> {
    file.review.untick(place.hunk);
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
    if (question.kind !== "edit" || question.diffs.length === 0) return;
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
    const known = question.hunks.get(diff.path);
    const review = new FileReview(diff.oldText ?? "", diff.newText, known?.hunks ?? []);
    return { path: diff.path, before, after, review, isDeletion: known?.kind === "delete" };
  }

  private active(): { question: OpenQuestion; file: ShownFile; editor: vscode.TextEditor } | undefined {
    const editor = vscode.window.activeTextEditor;
    const id = editor === undefined ? undefined : questionOf(editor.document.uri);
    const question = this.questions.open.find((open) => open.id === id);
    if (editor === undefined || question === undefined) return undefined;
    const uri = editor.document.uri.toString();
    const file = this.files(question).find(({ before, after }) => [before.toString(), after.toString()].includes(uri));
    if (file === undefined || file.review.undecided(this.textOf(file)).length === 0) return undefined;
    return { question, file, editor };
  }

  private follow(event: vscode.TextDocumentChangeEvent): void {
    if (questionOf(event.document.uri) === undefined) return;
    this.paint();
    this.decided.fire();
  }

  private paint(): void {
    const files = [...this.shown.values()].flat();
    for (const editor of vscode.window.visibleTextEditors) {
      const file = files.find(({ after }) => after.toString() === editor.document.uri.toString());
      if (file === undefined) continue;
      const places = file.review.places(editor.document.getText());
      for (const wanted of ["accepted", "rejected", "changed"] as const) {
        const marked = places.filter((place) => markOf(place) === wanted);
        editor.setDecorations(this.marks[wanted], marked.map(placeOf));
      }
    }
  }
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

function nameOf(file: string): string {
  const folder = mainFolder()?.uri.fsPath;
  const inside = folder === undefined ? file : path.relative(folder, file);
  return (inside.startsWith("..") ? file : inside).replaceAll("\\", "/");
}

/** A name in a notification, which would read a link in it. */
function plain(name: string): string {
  return name.replace(/[[\]()]/g, "·");
}

/** Where the eye should go: the first line of a hunk that changes. */
function placeOf(place: Place | undefined): vscode.Range {
  const line = place === undefined ? 0 : place.start + place.lead;
  return new vscode.Range(line, 0, line, 0);
}

function goTo(file: ShownFile, place: Place): void {
  const editor = vscode.window.visibleTextEditors.find(({ document }) => document.uri.toString() === file.after.toString());
  if (editor === undefined) return;
  const range = placeOf(place);
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
