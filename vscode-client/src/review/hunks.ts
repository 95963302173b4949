/** One file of a proposal while it is reviewed: which hunks are decided, and where they stand in the proposed text now. */

import type { Hunk } from "../acp";

/** A change of the proposed text: the lines that were replaced (from 0, the end included), and how many stand there now. */
export interface LineChange {
  first: number;
  last: number;
  lines: number;
}

interface Place {
  hunk: Hunk;
  /** Lines in the proposed text as it is now, from 0; `end` is the line after the last one. */
  start: number;
  end: number;
  /** How many unchanged lines it begins with. */
  lead: number;
  decision: "accepted" | "rejected" | undefined;
}

export class FileReview {
  private readonly places: Place[];
  private readonly oldLines: string[];

  constructor(
    readonly oldText: string,
    readonly newText: string,
    hunks: Hunk[],
  ) {
    this.oldLines = splitLines(oldText);
    const newLines = splitLines(newText);
    this.places = hunks.map((hunk) => {
      const start = from0(hunk.newStart, hunk.newLines);
      const lead = commonStart(this.oldLines.slice(...oldRange(hunk)), newLines.slice(start, start + hunk.newLines));
      return { hunk, start, end: start + hunk.newLines, lead, decision: undefined };
    });
  }

  get all(): readonly Readonly<Place>[] {
    return this.places;
  }

  get undecided(): readonly Readonly<Place>[] {
    return this.places.filter((place) => place.decision === undefined);
  }

  /** The undecided hunk at a line, else the one nearest to it. */
  at(line: number, side: "before" | "after"): Readonly<Place> | undefined {
    const distance = (place: Readonly<Place>): number => {
      const [start, end] = side === "after" ? [place.start, place.end] : oldRange(place.hunk);
      return line < start ? start - line : Math.max(line - end + 1, 0);
    };
    return [...this.undecided].sort((one, two) => distance(one) - distance(two))[0];
  }

  accept(id: string): void {
    this.decide(id, "accepted");
  }

  reject(id: string): void {
    this.decide(id, "rejected");
  }

  /** The old lines of a hunk, as they stand in the old text. */
  oldLinesOf(hunk: Hunk): string {
    return this.oldLines.slice(...oldRange(hunk)).join("");
  }

  /** Hunks move and grow with what the user types. */
  changed({ first, last, lines }: LineChange): void {
    const more = lines - (last - first + 1);
    for (const place of this.places) {
      if (last < place.start) place.start += more;
      if (first < place.end) place.end = Math.max(place.end + more, place.start);
    }
  }

  /** The text that the decisions alone would leave, what is undecided counting as accepted. */
  get decided(): string {
    const lines = splitLines(this.newText);
    for (const { hunk, decision } of [...this.places].reverse()) {
      if (decision !== "rejected") continue;
      lines.splice(from0(hunk.newStart, hunk.newLines), hunk.newLines, this.oldLinesOf(hunk));
    }
    return lines.join("");
  }

  private decide(id: string, decision: "accepted" | "rejected"): void {
    const place = this.places.find((known) => known.hunk.id === id);
    if (place !== undefined) place.decision = decision;
  }
}

function oldRange(hunk: Hunk): [number, number] {
  const start = from0(hunk.oldStart, hunk.oldLines);
  return [start, start + hunk.oldLines];
}

/** A side without lines is numbered by the line before it, as in every unified diff. */
function from0(start: number, lines: number): number {
  return lines > 0 ? start - 1 : start;
}

function commonStart(one: string[], two: string[]): number {
  const end = one.findIndex((line, index) => line !== two[index]);
  return end < 0 ? Math.min(one.length, two.length) : end;
}

/** Lines with their ends. */
function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}
