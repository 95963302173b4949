/** Buttons at each hunk of a proposal, and at its top for the whole file. */

import * as vscode from "vscode";

import type { Place } from "./hunks";
import type { ProposedFile } from "./proposal";
import type { Proposals, Target } from "./proposals";
import { SCHEME, sideOf } from "./texts";

export class Lenses implements vscode.CodeLensProvider, vscode.Disposable {
  private readonly registration: vscode.Disposable;
  readonly onDidChangeCodeLenses: vscode.Event<void>;

  constructor(private readonly proposals: Proposals) {
    this.onDidChangeCodeLenses = proposals.onChange;
    this.registration = vscode.languages.registerCodeLensProvider({ scheme: SCHEME }, this);
  }

  dispose(): void {
    this.registration.dispose();
  }

  provideCodeLenses({ uri, lineCount }: vscode.TextDocument): vscode.CodeLens[] {
    const found = this.proposals.find(uri);
    if (found === undefined || sideOf(uri) === "before") return [];
    const { review, file } = found;
    const target = { question: review.question.id, path: file.path };
    const several = review.files.length > 1 || file.places().length === 0;
    const hunks = ofHunks(file, target, lineCount - 1);
    if (!several) return hunks;
    const isAll = file.places().length === 1 && hunks.every(({ range }) => range.start.line === 0);
    return [...ofFile(file, target, review.files), ...(isAll ? [] : hunks)];
  }
}

function ofFile(file: ProposedFile, target: Target, files: ProposedFile[]): vscode.CodeLens[] {
  const number = vscode.l10n.t("File {0} of {1}", files.indexOf(file) + 1, files.length);
  const buttons =
    file.verdict === "open"
      ? [
          ["$(check-all)\u00a0" + vscode.l10n.t("Accept File"), "north.acceptFile"],
          ["$(close)\u00a0" + vscode.l10n.t("Reject File"), "north.rejectFile"],
        ]
      : [["$(discard)\u00a0" + vscode.l10n.t("Decide Again"), "north.reopenFile"]];
  return lenses(0, number, buttons, target);
}

function ofHunks(file: ProposedFile, target: Target, last: number): vscode.CodeLens[] {
  const places = file.places();
  return places.flatMap((place, index) => {
    const number = places.length > 1 ? vscode.l10n.t("Hunk {0} of {1}", index + 1, places.length) : "";
    return lenses(Math.min(place.start + place.lead, last), number, buttonsOf(place), { ...target, hunk: place.hunk.id });
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
