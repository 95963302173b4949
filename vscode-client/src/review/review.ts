/** A proposal in the editor: its files under the addresses that the editor knows them by. */

import * as vscode from "vscode";

import { nameOf } from "./names";
import { type Answer, Proposal, type ProposedFile, proposedFiles, type Texts } from "./proposal";
import type { OpenQuestion } from "./questions";
import { type ProposalTexts, proposalUri } from "./texts";
import type { ProposalDocuments } from "./proposalDocuments";

/** One side of a file's diff. */
export interface Sides {
  before: vscode.Uri;
  after: vscode.Uri;
}

export class Review {
  readonly proposal: Proposal;
  private readonly sides = new Map<string, Sides>();

  constructor(
    readonly question: OpenQuestion,
    private readonly texts: ProposalTexts,
    writing: ProposalDocuments,
  ) {
    const byPath: Texts = {
      read: (file) => writing.read(this.sidesOf(file).after),
      replace: (file, start, end, text) => writing.replace(this.sidesOf(file).after, start, end, text),
    };
    this.proposal = new Proposal(proposedFiles(question.diffs, question.hunks, byPath));
    for (const { diff, change } of this.proposal.files) {
      if (diff === undefined) continue;
      const before = proposalUri(nameOf(change.oldPath ?? change.path), "before", question.id);
      const after = proposalUri(nameOf(change.path), "after", question.id);
      this.sides.set(change.path, { before, after });
      texts.put(before, diff.oldText ?? "");
      texts.put(after, diff.newText);
    }
  }

  get files(): ProposedFile[] {
    return this.proposal.files;
  }

  /** Those that have a text to show. */
  get shown(): ProposedFile[] {
    return this.files.filter((file) => file.diff !== undefined);
  }

  sidesOf(file: string): Sides {
    const sides = this.sides.get(file);
    if (sides === undefined) throw new Error(vscode.l10n.t("There is no text to show of {0}.", file));
    return sides;
  }

  find(file: string): ProposedFile | undefined {
    return this.files.find((one) => one.path === file);
  }

  /** The file of which a document is one side. */
  fileOf(uri: vscode.Uri): ProposedFile | undefined {
    const key = uri.toString();
    return this.shown.find(({ path: file }) => Object.values<vscode.Uri>({ ...this.sidesOf(file) }).some((side) => side.toString() === key));
  }

  forget(): void {
    for (const { before, after } of this.sides.values()) [before, after].forEach((uri) => this.texts.forget(uri));
  }
}

/** What an answer leaves of a proposal, in words; nothing where it is all of it. */
export function describeAnswer(answer: Answer): string {
  if (answer.what !== "parts") return "";
  const { standing, proposed, typed } = answer.summary;
  const how = standing < proposed ? vscode.l10n.t("{0} of {1} changes", standing, proposed) : "";
  return [how, typed > 0 ? vscode.l10n.t("with your own words") : ""].filter((part) => part !== "").join(", ");
}
