/** Buttons at each hunk of a proposal, and at its top for the whole file. */

import * as vscode from "vscode";

import type { Place } from "./hunks";
import { CONTEXT, lineInView } from "./inView";
import type { ProposedFile } from "./proposal";
import type { Proposals, Target } from "./proposals";
import { isShownWithOthers } from "./tabs";
import { SCHEME, sideOf } from "./texts";

export class Lenses implements vscode.CodeLensProvider, vscode.Disposable {
  private readonly registered: vscode.Disposable;
  private readonly changed = new vscode.EventEmitter<void>();

  readonly onDidChangeCodeLenses = this.changed.event;

  constructor(private readonly proposals: Proposals) {
    const changed = (): void => this.changed.fire();
    this.registered = vscode.Disposable.from(
      vscode.languages.registerCodeLensProvider({ scheme: SCHEME }, this),
      proposals.onChange(changed),
      vscode.window.tabGroups.onDidChangeTabs(() => {
        if (proposals.open.length > 0) changed();
      }),
      this.changed,
    );
  }

  dispose(): void {
    this.registered.dispose();
  }

  provideCodeLenses({ uri, lineCount }: vscode.TextDocument): vscode.CodeLens[] {
    const found = this.proposals.find(uri);
    if (found === undefined || sideOf(uri) === "before") return [];
    const { review, file } = found;
    const target = { question: review.question.id, path: file.path };
    const several = review.files.length > 1 || file.places().length === 0;
    const seen = foldsUnchanged(uri) ? (line: number) => lineInView(line, file.places(), lineCount, contextLines()) : (line: number) => line;
    const hunks = ofHunks(file, target, lineCount - 1, seen);
    if (!several) return hunks;
    const isAll = file.places().length === 1 && hunks.every(({ range }) => range.start.line === 0);
    return [...ofFile(file, target, review.files, seen(0)), ...(isAll ? [] : hunks)];
  }
}

/** Unchanged lines are hidden, and what stands at them with them. */
function foldsUnchanged(uri: vscode.Uri): boolean {
  return isShownWithOthers(uri) || vscode.workspace.getConfiguration("diffEditor").get("hideUnchangedRegions.enabled") === true;
}

function contextLines(): number {
  return vscode.workspace.getConfiguration("diffEditor").get("hideUnchangedRegions.contextLineCount", CONTEXT);
}

function ofFile(file: ProposedFile, target: Target, files: ProposedFile[], line: number): vscode.CodeLens[] {
  const number = vscode.l10n.t("File {0} of {1}", files.indexOf(file) + 1, files.length);
  const buttons =
    file.verdict === "open"
      ? [
          ["$(check-all)\u00a0" + vscode.l10n.t("Accept File"), "north.acceptFile"],
          ["$(close)\u00a0" + vscode.l10n.t("Reject File"), "north.rejectFile"],
        ]
      : [["$(discard)\u00a0" + vscode.l10n.t("Decide Again"), "north.reopenFile"]];
  return lenses(line, number, buttons, target);
}

function ofHunks(file: ProposedFile, target: Target, last: number, seen: (line: number) => number): vscode.CodeLens[] {
  const places = file.places();
  return places.flatMap((place, index) => {
    const own = Math.min(place.start + place.lead, last);
    const line = seen(own);
    const number = line !== own ? vscode.l10n.t("Hunk {0} of {1}, in the hidden lines: rejected", index + 1, places.length) : places.length > 1 ? vscode.l10n.t("Hunk {0} of {1}", index + 1, places.length) : "";
    return lenses(line, number, buttonsOf(place), { ...target, hunk: place.hunk.id });
  });
}

function buttonsOf({ standing, ticked }: Place): string[][] {
  const again = ["$(discard)\u00a0" + vscode.l10n.t("Decide Again"), "north.reopenHunk"];
  if (standing === "rejected" || ticked) return [again];
  return [
    ["$(check)\u00a0" + vscode.l10n.t("Accept"), "north.acceptHunk"],
    ["$(close)\u00a0" + vscode.l10n.t("Reject"), "north.rejectHunk"],
  ];
}

function lenses(line: number, number: string, buttons: string[][], target: Target): vscode.CodeLens[] {
  const range = new vscode.Range(line, 0, line, 0);
  const made = buttons.map(([title = "", command = ""]) => new vscode.CodeLens(range, { title, command, arguments: [target] }));
  return number === "" ? made : [...made, new vscode.CodeLens(range, { title: number, command: "" })];
}
