/** One file of a proposal while it is reviewed. Its text decides: what stands at a hunk's place now is what becomes of the
 * hunk, whoever put it there (a command, typing, undo, the diff editor's arrow). Only the user's tick is kept beside it. */

import type { Hunk } from "../acp";
import { matchLines } from "./lines";

/** What stands at a hunk's place: the proposed lines, the old ones, or something else. */
export type Standing = "proposed" | "rejected" | "changed";

export interface Place {
  hunk: Hunk;
  /** Lines in the text as it is now, from 0; `end` is the line after the last one. */
  start: number;
  end: number;
  /** How many unchanged lines it begins with. */
  lead: number;
  /** How many unchanged lines it ends with. */
  trail: number;
  standing: Standing;
  /** The user has said that it shall stand. */
  ticked: boolean;
}

export class FileReview {
  private readonly oldLines: string[];
  private readonly newLines: string[];
  private readonly ticked = new Set<string>();

  constructor(
    oldText: string,
    newText: string,
    private readonly hunks: Hunk[],
  ) {
    this.oldLines = splitLines(oldText);
    this.newLines = splitLines(newText);
  }

  /** The hunks as they stand in a text. */
  places(text: string): Place[] {
    const lines = splitLines(text);
    const matched = matchLines(this.newLines, lines);
    return this.hunks.map((hunk) => {
      const proposed = this.newLines.slice(...newRange(hunk));
      const old = this.oldLines.slice(...oldRange(hunk));
      const [start, end] = moved(newRange(hunk), matched, lines.length);
      const here = lines.slice(start, end);
      const standing = equal(here, proposed) ? "proposed" : equal(here, old) ? "rejected" : "changed";
      const lead = commonStart(old, proposed);
      const trail = commonStart(old.slice(lead).reverse(), proposed.slice(lead).reverse());
      return { hunk, start, end, lead, trail, standing, ticked: this.ticked.has(hunk.id) };
    });
  }

  /** Those that neither the text nor the user has decided. */
  undecided(text: string): Place[] {
    return this.places(text).filter((place) => !place.ticked && place.standing !== "rejected");
  }

  /** The undecided hunk at a line, else the one nearest to it. */
  at(text: string, line: number, side: "before" | "after"): Place | undefined {
    const distance = (place: Place): number => {
      const [start, end] = side === "after" ? [place.start, place.end] : oldRange(place.hunk);
      return line < start ? start - line : Math.max(line - end + 1, 0);
    };
    return this.undecided(text).sort((one, two) => distance(one) - distance(two))[0];
  }

  tick(hunk: Hunk): void {
    this.ticked.add(hunk.id);
  }

  untick(hunk: Hunk): void {
    this.ticked.delete(hunk.id);
  }

  /** The old lines of a hunk, as they stand in the old text. */
  oldLinesOf(hunk: Hunk): string {
    return this.oldLines.slice(...oldRange(hunk)).join("");
  }

  /** The proposed lines of a hunk. */
  proposedLinesOf(hunk: Hunk): string {
    return this.newLines.slice(...newRange(hunk)).join("");
  }

  /** How many lines a text has that the old one has not, and the other way round. */
  changedLines(text: string): { added: number; removed: number } {
    const lines = splitLines(text);
    const kept = matchLines(this.oldLines, lines).filter((line) => line >= 0).length;
    return { added: lines.length - kept, removed: this.oldLines.length - kept };
  }

  /** The ids of the hunks that stand in a text, if that says all there is to say of it: the rest is as proposed, or old. */
  standing(text: string): string[] | undefined {
    const places = this.places(text);
    const lines = [...this.newLines];
    for (const { hunk, standing } of [...places].reverse()) {
      if (standing !== "rejected") continue;
      const [start, end] = newRange(hunk);
      lines.splice(start, end - start, ...this.oldLines.slice(...oldRange(hunk)));
    }
    if (!equal(lines, splitLines(text))) return undefined;
    return places.filter((place) => place.standing === "proposed").map((place) => place.hunk.id);
  }

  /** Nothing of the proposal is left in a text. */
  isOld(text: string): boolean {
    return this.hunks.length > 0 && equal(this.oldLines, splitLines(text));
  }
}

/** The lines of a hunk in the old text, from 0, and the line after them. */
export function oldRange(hunk: Hunk): [number, number] {
  const start = from0(hunk.oldStart, hunk.oldLines);
  return [start, start + hunk.oldLines];
}

function newRange(hunk: Hunk): [number, number] {
  const start = from0(hunk.newStart, hunk.newLines);
  return [start, start + hunk.newLines];
}

/** A side without lines is numbered by the line before it, as in every unified diff. */
function from0(start: number, lines: number): number {
  return lines > 0 ? start - 1 : start;
}

/** Where a range of lines is now: from the line behind what is left of those before it to what is left behind it. */
function moved([first, last]: [number, number], matched: Int32Array, count: number): [number, number] {
  let before = first - 1;
  while (before >= 0 && matched[before] === -1) before -= 1;
  let after = last;
  while (after < matched.length && matched[after] === -1) after += 1;
  const [begins, ends] = [matched[first] ?? -1, matched[last - 1] ?? -1];
  const start = last > first && begins !== -1 ? begins : before < 0 ? 0 : (matched[before] ?? 0) + 1;
  const end = last > first && ends !== -1 ? ends + 1 : after < matched.length ? (matched[after] ?? count) : count;
  return [start, Math.max(start, end)];
}

function commonStart(one: string[], two: string[]): number {
  const end = one.findIndex((line, index) => line !== two[index]);
  return end < 0 ? Math.min(one.length, two.length) : end;
}

/** VS Code gives every line of a document the same end: such a difference is not the user's. */
function equal(one: string[], two: string[]): boolean {
  return one.length === two.length && one.every((line, index) => line === two[index] || plain(line) === plain(two[index] ?? ""));
}

function plain(line: string): string {
  return line.endsWith("\r\n") ? `${line.slice(0, -2)}\n` : line;
}

/** Lines with their ends. */
export function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}
