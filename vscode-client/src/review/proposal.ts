/** A proposal while it is reviewed: what is still open, and what the server is told in the end. What stands is read from
 * the proposed texts, which the user may change; only what no text can say is kept beside them. Knows no editor. */

import type { ChangedFile, Diff, Hunk, Parts } from "../acp";
import { FileReview, type Place, splitLines } from "./hunks";

/** What has become of a file so far. */
export type Verdict = "open" | "accepted" | "rejected" | "partly";

/** The proposed texts by path, as they are now. */
export interface Texts {
  read(path: string): string;
  /** Puts a text in the place of some lines, from 0; `end` is the line after the last one. */
  replace(path: string, start: number, end: number, text: string): Promise<boolean>;
}

export class ProposedFile {
  /** Of a file that has no hunks: moved, empty, or no text at all. */
  private choice: "accepted" | "rejected" | undefined;
  private readonly review: FileReview;

  constructor(
    readonly change: ChangedFile,
    readonly diff: Diff | undefined,
    private readonly texts: Texts,
  ) {
    this.review = new FileReview(diff?.oldText ?? "", diff?.newText ?? "", diff === undefined ? [] : change.hunks);
  }

  get path(): string {
    return this.change.path;
  }

  get text(): string {
    return this.diff === undefined ? "" : this.texts.read(this.path);
  }

  get verdict(): Verdict {
    const places = this.places();
    if (places.length === 0) return this.choice ?? "open";
    if (places.every((place) => place.standing === "rejected")) return "rejected";
    if (this.undecided().length > 0) return "open";
    return places.some((place) => place.standing === "rejected") ? "partly" : "accepted";
  }

  /** How many lines it adds and removes as it stands. */
  get lines(): { added: number; removed: number } {
    return this.diff === undefined ? { added: 0, removed: 0 } : this.review.changedLines(this.text);
  }

  places(): Place[] {
    return this.diff === undefined ? [] : this.review.places(this.text);
  }

  undecided(): Place[] {
    return this.diff === undefined ? [] : this.review.undecided(this.text);
  }

  placeOf(hunkId: string): Place | undefined {
    return this.places().find((place) => place.hunk.id === hunkId);
  }

  /** The undecided hunk at a line, else the one nearest to it. */
  at(line: number, side: "before" | "after"): Place | undefined {
    return this.diff === undefined ? undefined : this.review.at(this.text, line, side);
  }

  acceptHunk(hunk: Hunk): void {
    this.review.tick(hunk);
  }

  /** Puts the old lines of a hunk in the proposed text. */
  async rejectHunk(place: Place): Promise<boolean> {
    this.review.untick(place.hunk);
    return this.texts.replace(this.path, place.start, place.end, this.review.oldLinesOf(place.hunk));
  }

  /** Makes a hunk an open one again, as it was proposed. */
  async reopenHunk(place: Place): Promise<void> {
    this.review.untick(place.hunk);
    if (place.standing !== "rejected") return;
    await this.texts.replace(this.path, place.start, place.end, this.review.proposedLinesOf(place.hunk));
  }

  /** Ticks what stands in it. */
  accept(): void {
    this.choice = "accepted";
    for (const place of this.undecided()) this.review.tick(place.hunk);
  }

  /** Puts back all of the old text, what the user has typed included. */
  async reject(): Promise<boolean> {
    this.choice = "rejected";
    for (const place of this.places()) this.review.untick(place.hunk);
    if (this.diff === undefined || this.change.hunks.length === 0) return true;
    return this.texts.replace(this.path, 0, splitLines(this.text).length, this.diff.oldText ?? "");
  }

  /** Makes the file as it was proposed, and undecided. */
  async reopen(): Promise<void> {
    this.choice = undefined;
    for (const place of this.places()) this.review.untick(place.hunk);
    if (this.diff === undefined || this.text === this.diff.newText) return;
    await this.texts.replace(this.path, 0, splitLines(this.text).length, this.diff.newText);
  }

  /** What the server is told of it: the hunks that stand, a text of the user's, or nothing where it does not stand. */
  stands(): { hunks: string[] } | { text: string } | undefined {
    if (this.diff === undefined || (this.change.hunks.length === 0 && this.choice === "rejected")) {
      return this.choice === "rejected" ? undefined : { hunks: [] };
    }
    const { text } = this;
    const hunks = this.review.standing(text);
    if (hunks === undefined) return { text };
    return hunks.length > 0 || !this.review.isOld(text) ? { hunks } : undefined;
  }

  /** Everything of it stands, as it was proposed. */
  get isWhole(): boolean {
    const standing = this.stands();
    return standing !== undefined && "hunks" in standing && standing.hunks.length === this.places().length;
  }
}

/** A place where something is still to be decided; a file that has no hunks is decided as a whole. */
export interface OpenPlace {
  file: ProposedFile;
  place: Place | undefined;
}

/** What is decided of a whole proposal. */
export type Answer =
  | { what: "all" | "nothing" }
  | { what: "parts"; parts: Parts; summary: AnswerSummary }
  /** A text was typed where a file is to be deleted. */
  | { what: "impossible"; file: ProposedFile };

export interface AnswerSummary {
  standing: number;
  proposed: number;
  /** Files whose text is the user's. */
  typed: number;
}

export class Proposal {
  constructor(readonly files: ProposedFile[]) {}

  get anythingTicked(): boolean {
    return this.files.some((file) =>
      file.places().length === 0
        ? file.verdict === "accepted"
        : file.places().some((place) => place.ticked && place.standing !== "rejected"),
    );
  }

  /** What is still to be decided, in order. */
  open(): OpenPlace[] {
    return this.files.flatMap((file): OpenPlace[] => {
      if (file.places().length > 0) return file.undecided().map((place) => ({ file, place }));
      return file.verdict === "open" ? [{ file, place: undefined }] : [];
    });
  }

  /** The next (or the previous) one from a line of a file on, which goes round at the end. */
  next(from: ProposedFile, line: number, way: 1 | -1 = 1): OpenPlace | undefined {
    const position = (file: ProposedFile, at: number): [number, number] => [this.files.indexOf(file), at];
    const here = position(from, line);
    const stops = this.open();
    if (way < 0) stops.reverse();
    const beyond = stops.find((stop) => {
      const [file, at] = position(stop.file, stop.place?.start ?? 0);
      return way * (file - here[0] || at - here[1]) > 0;
    });
    return beyond ?? stops[0];
  }

  /** Rejects whatever is not decided yet. */
  async rejectRest(): Promise<void> {
    for (const file of this.files) {
      if (file.places().length === 0) {
        if (file.verdict === "open") await file.reject();
      } else for (const place of file.undecided().reverse()) await file.rejectHunk(place);
    }
  }

  answer(): Answer {
    const hunks: Record<string, string[]> = {};
    const texts: Record<string, string> = {};
    const summary = { standing: 0, proposed: 0, typed: 0 };
    for (const file of this.files) {
      const standing = file.stands();
      summary.proposed += Math.max(file.places().length, 1);
      if (standing === undefined) continue;
      if ("text" in standing) {
        if (file.change.kind === "delete") return { what: "impossible", file };
        texts[file.path] = standing.text;
        summary.typed += 1;
        summary.standing += file.places().filter((place) => place.standing !== "rejected").length;
      } else {
        hunks[file.path] = standing.hunks;
        summary.standing += file.places().length === 0 ? 1 : standing.hunks.length;
      }
    }
    if (this.files.every((file) => file.isWhole)) return { what: "all" };
    if (Object.keys(hunks).length + Object.keys(texts).length === 0) return { what: "nothing" };
    return { what: "parts", parts: { hunks, texts }, summary };
  }
}

/** The files of a proposal as the server tells them, else as its diffs do. */
export function proposedFiles(diffs: Diff[], told: ReadonlyMap<string, ChangedFile>, texts: Texts): ProposedFile[] {
  const changes = [...told.values()];
  for (const { path } of diffs) if (!told.has(path)) changes.push({ path, hunks: [] });
  return changes.map((change) => new ProposedFile(change, diffs.find((diff) => diff.path === change.path), texts));
}
