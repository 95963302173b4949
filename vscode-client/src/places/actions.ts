/** North in the light bulb, and the same requests as commands: each sends a message with the code that it is about. */

import * as vscode from "vscode";

import { showInfo } from "../common/notices";
import type { Register } from "../common/registering";
import { linesOf } from "../composer/chips";
import { partOf } from "./attachments";
import type { Chat } from "./chat";
import { codeOf, fixText, type Problem, severityOf, shortened } from "./problems";
import { DOCUMENT, EXPLAIN, FIX, TESTS } from "./prompts";
import { around, type Lines } from "./ranges";

/** What stands around a problem helps to understand it. */
const LINES_AROUND = 10;

/** By the name of its command; the keys are contributed in package.json. */
const EDITS = { writeTests: TESTS, document: DOCUMENT } as const;

export function registerActions(chat: Chat, register: Register): vscode.Disposable {
  const request = (how: "ask" | "edit", text: string) => async (uri?: unknown, range?: unknown) => {
    const place = await placeOf(uri, range);
    if (place !== undefined) await chat[how](text, [partOf(place.document, place.lines)]);
  };
  return vscode.Disposable.from(
    register("explain", request("ask", EXPLAIN)),
    ...Object.entries(EDITS).map(([name, text]) => register(name, request("edit", text))),
    register("fix", async (uri, range) => {
      const place = await placeOf(uri, range);
      if (place === undefined) return;
      const { document, lines } = place;
      const problems = problemsIn(document, lines);
      const path = vscode.workspace.asRelativePath(document.uri);
      await chat.edit(problems.length > 0 ? fixText(path, problems) : FIX, [partOf(document, around(lines, LINES_AROUND, document.lineCount))]);
    }),
    vscode.languages.registerCodeActionsProvider({ scheme: "file" }, new Actions(), { providedCodeActionKinds: [QUICK_FIX, REFACTOR] }),
  );
}

const QUICK_FIX = vscode.CodeActionKind.QuickFix.append("north");
const REFACTOR = vscode.CodeActionKind.RefactorRewrite.append("north");

class Actions implements vscode.CodeActionProvider {
  provideCodeActions(document: vscode.TextDocument, range: vscode.Range, { diagnostics, only }: vscode.CodeActionContext): vscode.CodeAction[] {
    if (!offered(document)) return [];
    const action = (title: string, kind: vscode.CodeActionKind, name: string, where: vscode.Range) => {
      const made = new vscode.CodeAction(title, kind);
      made.command = { command: `north.${name}`, title, arguments: [document.uri, where] };
      return made;
    };
    const actions: vscode.CodeAction[] = [];
    const [first] = diagnostics;
    if (first !== undefined && (only === undefined || only.contains(QUICK_FIX))) {
      const whole = diagnostics.reduce((all, { range }) => all.union(range), first.range);
      const title =
        diagnostics.length === 1
          ? vscode.l10n.t("North: Fix “{0}”", shortened(first.message.replace(/\s+/g, " "), 60))
          : vscode.l10n.t("North: Fix {0} Problems", diagnostics.length);
      const fix = action(title, QUICK_FIX, "fix", whole);
      fix.diagnostics = [...diagnostics];
      actions.push(fix);
    }
    // Without a selection there would be a light bulb at every line.
    if (!range.isEmpty && (only === undefined || only.contains(REFACTOR))) {
      actions.push(
        action(vscode.l10n.t("North: Explain"), REFACTOR, "explain", range),
        action(vscode.l10n.t("North: Write Tests"), REFACTOR, "writeTests", range),
        action(vscode.l10n.t("North: Document"), REFACTOR, "document", range),
      );
    }
    return actions;
  }
}

function offered(document: vscode.TextDocument): boolean {
  return vscode.workspace.getConfiguration("north", document).get("codeActions") !== false;
}

interface Place {
  document: vscode.TextDocument;
  lines: Lines;
}

/** What a code action names; otherwise the selection, or without one the whole text that the editor shows. */
async function placeOf(uri: unknown, range: unknown): Promise<Place | undefined> {
  if (uri instanceof vscode.Uri && range instanceof vscode.Range) {
    return { document: await vscode.workspace.openTextDocument(uri), lines: linesOf(range.start, range.end) };
  }
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) {
    void showInfo(vscode.l10n.t("North: open the file that this is about first."));
    return undefined;
  }
  const { document, selection } = editor;
  return { document, lines: selection.isEmpty ? [1, document.lineCount] : linesOf(selection.start, selection.end) };
}

function problemsIn(document: vscode.TextDocument, [first, last]: Lines): Problem[] {
  const inside = ({ range }: vscode.Diagnostic) => range.start.line < last && range.end.line >= first - 1;
  return vscode.languages.getDiagnostics(document.uri).filter(inside).map(problemOf);
}

function problemOf({ range, severity, message, source, code }: vscode.Diagnostic): Problem {
  const { line, character } = range.start;
  const rule = codeOf(code);
  return {
    line,
    character,
    severity: severityOf(severity),
    message,
    ...(source === undefined ? {} : { source }),
    ...(rule === undefined ? {} : { code: rule }),
  };
}
