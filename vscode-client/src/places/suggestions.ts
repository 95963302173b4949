/** What North proposes while one types: the rest of what has begun, or the edit that follows from the last ones. At the
 * cursor VS Code shows it as its own ghost text; elsewhere it is drawn in the file, and nothing changes before it is taken. */

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import { reason } from "../common/logger";
import type { Register } from "../common/registering";
import { firstOf, fitsAtCursor, piecesOf, type Suggested } from "./suggested";

const METHOD = "textDocument/inlineCompletion";
/** LSP's words for who asks. */
const INVOKED = 1;
const AUTOMATIC = 2;
/** VS Code tells of a change before it tells where the cursor is then. */
const SETTLED_MS = 50;
const WANTED = ["completion.nextEdits", "completion.inline"];
const SHOWN = "north.suggestion";

interface Parts {
  /** The client while a server runs. */
  running: () => LanguageClient | undefined;
  /** Starts the server, with a conversation, whose settings and limits count. */
  open: () => Promise<unknown>;
  log: vscode.LogOutputChannel;
}

interface Shown {
  editor: vscode.TextEditor;
  version: number;
  range: vscode.Range;
  suggested: Suggested;
}

interface Asked {
  document: vscode.TextDocument;
  version: number;
  cancel: vscode.CancellationTokenSource;
  answer: Promise<Suggested | undefined>;
  /** VS Code has asked for it as well, and shows what fits at the cursor. */
  byEditor: boolean;
}

export class Suggestions implements vscode.Disposable {
  private readonly gone = vscode.window.createTextEditorDecorationType({
    textDecoration: "line-through",
    backgroundColor: new vscode.ThemeColor("diffEditor.removedTextBackground"),
  });
  private readonly comes = vscode.window.createTextEditorDecorationType({
    after: { color: new vscode.ThemeColor("editorGhostText.foreground"), backgroundColor: new vscode.ThemeColor("diffEditor.insertedTextBackground") },
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
  });
  private readonly away = vscode.window.createTextEditorDecorationType({
    after: { color: new vscode.ThemeColor("descriptionForeground"), margin: "0 0 0 3em" },
  });
  private shown: Shown | undefined;
  private asked: Asked | undefined;
  private hasOpened = false;
  private timer: NodeJS.Timeout | undefined;
  private readonly registered: vscode.Disposable;

  constructor(
    private readonly parts: Parts,
    register: Register,
  ) {
    this.registered = vscode.Disposable.from(
      this.gone,
      this.comes,
      this.away,
      vscode.languages.registerInlineCompletionItemProvider({ scheme: "file" }, { provideInlineCompletionItems: (document, position, { triggerKind }) => this.provide(document, position, triggerKind) }),
      vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        if (contentChanges.length > 0) this.changed(document);
      }),
      vscode.window.onDidChangeActiveTextEditor(() => this.forget()),
      vscode.window.onDidChangeTextEditorSelection(() => this.drawDirection()),
      vscode.window.onDidChangeTextEditorVisibleRanges(() => this.drawDirection()),
      register("takeSuggestion", () => this.take()),
      register("dismissSuggestion", () => this.dismiss()),
    );
  }

  dispose(): void {
    this.forget();
    this.registered.dispose();
  }

  private forget(): void {
    clearTimeout(this.timer);
    this.asked?.cancel.cancel();
    this.asked = undefined;
    this.dismiss();
  }

  private changed(document: vscode.TextDocument): void {
    const editor = vscode.window.activeTextEditor;
    if (editor?.document !== document || document.uri.scheme !== "file") return;
    if (this.asked?.version !== document.version) this.forget();
    this.timer = setTimeout(() => void this.propose(editor), SETTLED_MS);
  }

  /** Draws what VS Code does not show itself. */
  private async propose(editor: vscode.TextEditor): Promise<void> {
    if (editor.selections.length > 1) return;
    const asked = this.ask(editor.document, editor.selection.active, AUTOMATIC);
    const suggested = await asked.answer;
    if (suggested !== undefined && this.asked === asked && !(asked.byEditor && this.fits(suggested, editor.document, editor.selection.active))) this.show(editor, suggested);
  }

  private async provide(document: vscode.TextDocument, position: vscode.Position, kind: vscode.InlineCompletionTriggerKind): Promise<vscode.InlineCompletionItem[]> {
    const isInvoked = kind === vscode.InlineCompletionTriggerKind.Invoke;
    const asked = this.ask(document, position, isInvoked ? INVOKED : AUTOMATIC);
    asked.byEditor = true;
    const suggested = await asked.answer;
    if (suggested === undefined || this.asked !== asked || this.shown !== undefined) return [];
    if (this.fits(suggested, document, position)) return [new vscode.InlineCompletionItem(suggested.insertText, rangeOf(suggested))];
    const editor = vscode.window.activeTextEditor;
    if (editor?.document === document) this.show(editor, suggested);
    return [];
  }

  private fits(suggested: Suggested, document: vscode.TextDocument, position: vscode.Position): boolean {
    return fitsAtCursor(suggested, document.getText(rangeOf(suggested)), position);
  }

  /** One question for each text; the server waits for a pause, and forgets what was asked before. */
  private ask(document: vscode.TextDocument, position: vscode.Position, triggerKind: number): Asked {
    const { version } = document;
    if (this.asked?.document === document && this.asked.version === version && triggerKind === AUTOMATIC) return this.asked;
    this.forget();
    const cancel = new vscode.CancellationTokenSource();
    const params = { textDocument: { uri: document.uri.toString() }, position: { line: position.line, character: position.character }, context: { triggerKind } };
    const answer = this.answered(params, cancel.token).then((found) => (document.version === version ? found : undefined));
    this.asked = { document, version, cancel, answer, byEditor: false };
    return this.asked;
  }

  private async answered(params: object, token: vscode.CancellationToken): Promise<Suggested | undefined> {
    try {
      if (!this.hasOpened && isWanted()) {
        this.hasOpened = true; // a server that does not start is no affair of each key that is pressed
        await this.parts.open();
      }
      return firstOf(await this.parts.running()?.sendRequest(METHOD, params, token));
    } catch (error) {
      this.parts.log.debug(`${METHOD}: ${reason(error)}`);
      return undefined;
    }
  }

  private show(editor: vscode.TextEditor, suggested: Suggested): void {
    this.dismiss();
    const range = editor.document.validateRange(rangeOf(suggested));
    const drawn = inWholeLines(suggested, editor.document);
    const pieces = piecesOf(drawn, editor.document.getText(rangeOf(drawn)));
    if (!range.isEqual(rangeOf(suggested)) || pieces.length === 0) return;
    this.shown = { editor, version: editor.document.version, range, suggested };
    const hoverMessage = hoverOf(suggested, editor.document.languageId);
    editor.setDecorations(this.gone, pieces.map((piece) => ({ range: rangeOf(piece), hoverMessage })));
    editor.setDecorations(
      this.comes,
      pieces.map((piece) => ({ range: rangeOf(piece), hoverMessage, renderOptions: { after: { contentText: spaced(piece.added) } } })),
    );
    this.drawDirection();
    void vscode.commands.executeCommand("setContext", SHOWN, true);
  }

  /** Where it is out of view, its line is named beside the cursor. */
  private drawDirection(): void {
    if (this.shown === undefined) return;
    const { editor, range } = this.shown;
    const { line } = editor.selection.active;
    const contentText = vscode.l10n.t("North: next edit in line {0}", range.start.line + 1);
    const beside = [{ range: editor.document.lineAt(line).range, renderOptions: { after: { contentText } } }];
    editor.setDecorations(this.away, isInView(this.shown) ? [] : beside);
  }

  private dismiss(): void {
    if (this.shown === undefined) return;
    const { editor } = this.shown;
    this.shown = undefined;
    for (const type of [this.gone, this.comes, this.away]) editor.setDecorations(type, []);
    void vscode.commands.executeCommand("setContext", SHOWN, false);
  }

  /** Takes what is shown; where it is out of view, goes there first. */
  private async take(): Promise<void> {
    const one = this.shown;
    if (one === undefined || one.editor !== vscode.window.activeTextEditor || one.editor.document.version !== one.version) return;
    const { editor, range, suggested } = one;
    if (!isInView(one)) {
      editor.selection = new vscode.Selection(range.start, range.start);
      editor.revealRange(range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
      return;
    }
    this.dismiss();
    const end = endOf(suggested, range.start);
    if (await editor.edit((edit) => edit.replace(range, suggested.insertText))) editor.selection = new vscode.Selection(end, end);
  }
}

/** Whether the user has switched it on in VS Code; what the server's own file says the server knows. */
function isWanted(): boolean {
  const settings = vscode.workspace.getConfiguration();
  return vscode.workspace.isTrusted && WANTED.some((name) => settings.inspect(`north.${name}`)?.globalValue === true);
}

function isInView({ editor, range }: Shown): boolean {
  return editor.visibleRanges.some((visible) => visible.start.line <= range.start.line && range.start.line <= visible.end.line);
}

function rangeOf({ range: { start, end } }: { range: Suggested["range"] }): vscode.Range {
  return new vscode.Range(start.line, start.character, end.line, end.character);
}

function endOf({ insertText }: Suggested, start: vscode.Position): vscode.Position {
  const lines = insertText.split(/\r?\n/);
  const last = lines.at(-1)?.length ?? 0;
  return new vscode.Position(start.line + lines.length - 1, lines.length === 1 ? start.character + last : last);
}

/** Lines in place of others are drawn whole: pieces of them could not be read. */
function inWholeLines(suggested: Suggested, document: vscode.TextDocument): Suggested {
  const range = rangeOf(suggested);
  if (range.isEmpty || (range.isSingleLine && !suggested.insertText.includes("\n"))) return suggested;
  const whole = new vscode.Range(range.start.line, 0, range.end.line, document.lineAt(range.end.line).text.length);
  const before = document.getText(new vscode.Range(whole.start, range.start));
  const after = document.getText(new vscode.Range(range.end, whole.end));
  return { insertText: before + suggested.insertText + after, range: whole };
}

/** With spaces that a decoration does not fold. */
function spaced(text: string): string {
  return text.replaceAll("\t", "    ").replaceAll(" ", "\u00a0");
}

function hoverOf({ insertText }: Suggested, language: string): vscode.MarkdownString {
  const hover = new vscode.MarkdownString(`${vscode.l10n.t("North proposes this as your next edit.")} [${vscode.l10n.t("Take It")}](command:north.takeSuggestion) · [${vscode.l10n.t("Dismiss It")}](command:north.dismissSuggestion)`);
  hover.isTrusted = { enabledCommands: ["north.takeSuggestion", "north.dismissSuggestion"] };
  if (insertText.trim() !== "") hover.appendCodeblock(insertText, language);
  return hover;
}
