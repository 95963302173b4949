/** A question at the cursor: a small box below the line, the answer as an edit to review. VS Code lets extensions open
 * one in the text only as a comment that is being written. */

import * as vscode from "vscode";

import { showInfo } from "../common/notices";
import { type Attachment, placeOf } from "../composer/chips";
import { selection as selected } from "../composer/attachmentSources";
import { partOf } from "./attachments";
import type { Chat } from "./chat";

/** By this name package.json knows the box: its buttons, and its keys. */
const CONTROLLER = "north.inline";
/** So long VS Code may take to ask where comments can be written. */
const ASKED_MS = 10_000;

interface Place {
  editor: vscode.TextEditor;
  attachment: Attachment;
  /** In words, for the model. */
  where: string;
}

export class InlineChat implements vscode.Disposable {
  private open: { controller: vscode.CommentController; place: Place } | undefined;

  constructor(private readonly chat: Chat) {}

  dispose(): void {
    this.close();
  }

  async ask(): Promise<void> {
    const place = placeAt(vscode.window.activeTextEditor);
    if (place === undefined) {
      void showInfo(vscode.l10n.t("North: put the cursor into a file first."));
      return;
    }
    this.close();
    if (await this.openBox(place)) return;
    this.close();
    await this.send(place, (await askAbove(place)) ?? "");
  }

  /** What was written in the box. */
  async reply(argument: unknown): Promise<void> {
    const { open } = this;
    const words = typeof argument === "object" && argument !== null && "text" in argument && typeof argument.text === "string" ? argument.text : "";
    if (open === undefined || words.trim() === "") return;
    this.close();
    await backTo(open.place);
    await this.send(open.place, words);
  }

  /** The cursor goes back to where it was. */
  async cancel(): Promise<void> {
    const { open } = this;
    this.close();
    if (open !== undefined) await backTo(open.place);
  }

  private close(): void {
    this.open?.controller.dispose();
    this.open = undefined;
  }

  private async send({ attachment, where }: Place, words: string): Promise<void> {
    if (words.trim() !== "") await this.chat.edit(`${words.trim()}\n\n(${where})`, [attachment]);
  }

  /** False where VS Code shows no comments. */
  private async openBox(place: Place): Promise<boolean> {
    if (vscode.workspace.getConfiguration("comments").get("visible") === false) return false;
    const { document, selection } = place.editor;
    const controller = vscode.comments.createCommentController(CONTROLLER, "North");
    this.open = { controller, place };
    controller.options = { prompt: vscode.l10n.t("What is to be changed here"), placeHolder: vscode.l10n.t("What is to be changed here: Enter sends, Escape closes") };
    const lines = new vscode.Range(selection.start.line, 0, selection.end.line, 0);
    const asked = new Promise<boolean>((resolve) => {
      controller.commentingRangeProvider = {
        provideCommentingRanges({ uri }) {
          if (uri.toString() !== document.uri.toString()) return [];
          resolve(true);
          return [lines];
        },
      };
      setTimeout(() => resolve(false), ASKED_MS);
    });
    if (!(await asked)) return false;
    // Once more there and back: the answer is known then.
    await vscode.commands.executeCommand("setContext", "north.inlineChat", true);
    await vscode.commands.executeCommand("workbench.action.addComment");
    return true;
  }
}

async function backTo({ editor: { document, viewColumn } }: Place): Promise<void> {
  await vscode.window.showTextDocument(document, viewColumn === undefined ? {} : { viewColumn });
}

function placeAt(editor: vscode.TextEditor | undefined): Place | undefined {
  if (editor === undefined || editor.document.uri.scheme !== "file") return undefined;
  const { document, selection } = editor;
  const line = selection.active.line + 1;
  const attachment = selection.isEmpty ? partOf(document, [line, line]) : selected(editor);
  const where = selection.isEmpty ? `at the cursor in ${placeOf(vscode.workspace.asRelativePath(document.uri), [line, line])}` : `in ${attachment.label}`;
  return { editor, attachment, where };
}

/** In the box at the top of the window. */
function askAbove({ attachment }: Place): Thenable<string | undefined> {
  return vscode.window.showInputBox({
    title: vscode.l10n.t("North: Edit {0}", attachment.label),
    prompt: vscode.l10n.t("You review the edit before it is written."),
    placeHolder: vscode.l10n.t("What is to be changed here"),
  });
}
