/** Changed texts as the few lines that a conversation shows of them. Pure. */

import type { Diff } from "../acp";
import { visible } from "../common/visible";
import type { ShownDiff } from "../messages";
import { matchLines } from "../review/lines";

const CONTEXT = 3;
/** So many lines are shown of one file. */
const MOST_LINES = 400;
/** Longer texts are not compared here: the diff editor does that. */
const LONGEST = 2_000_000;

export function shownDiff(diff: Diff, nameOf: (path: string) => string): ShownDiff {
  const { path, newText } = diff;
  const { kind, preview = false, line = 1 } = diff._meta?.north ?? {};
  const change = kind ?? (diff.oldText === null || diff.oldText === undefined ? "create" : "update");
  const oldText = diff.oldText ?? "";
  const tooLong = oldText.length + newText.length > LONGEST;
  const compared = tooLong ? { added: 0, removed: 0, hunks: [], left: 1 } : compare(oldText, newText, preview ? line : 1);
  return { kind: "diff", path, name: visible(nameOf(path)), change, ...compared, preview };
}

type Compared = Pick<ShownDiff, "added" | "removed" | "hunks" | "left">;

/** `first` is the number of the texts' first line. */
export function compare(oldText: string, newText: string, first = 1): Compared {
  const [before, after] = [linesOf(oldText), linesOf(newText)];
  const marked = mark(before, after);
  const changed = marked.map((row) => !row.text.startsWith(" "));
  const near = changed.map((_, at) => changed.slice(Math.max(at - CONTEXT, 0), at + CONTEXT + 1).includes(true));
  const hunks: Compared["hunks"] = [];
  let [shown, left] = [0, 0];
  for (const [at, row] of marked.entries()) {
    if (near[at] !== true) continue;
    if (shown >= MOST_LINES) {
      if (changed[at] === true) left += 1;
      continue;
    }
    const last = hunks.at(-1);
    if (last === undefined || near[at - 1] !== true) hunks.push({ line: row.line + first, lines: [visible(row.text)] });
    else last.lines.push(visible(row.text));
    shown += 1;
  }
  const count = (sign: string): number => marked.filter((row) => row.text.startsWith(sign)).length;
  return { added: count("+"), removed: count("-"), hunks, left };
}

interface Marked {
  /** With its sign: ` `, `-` or `+`. */
  text: string;
  /** In the new text, from 0: where it stands, or stood. */
  line: number;
}

function mark(before: string[], after: string[]): Marked[] {
  const matched = matchLines(before, after);
  const marked: Marked[] = [];
  let line = 0;
  const added = (end: number): void => {
    for (; line < end; line += 1) marked.push({ text: `+${after[line] ?? ""}`, line });
  };
  for (let at = 0; at < before.length; ) {
    // What was there comes first, then what takes its place.
    const from = at;
    while (at < before.length && matched[at] === -1) at += 1;
    for (const text of before.slice(from, at)) marked.push({ text: `-${text}`, line });
    const same = at < before.length ? (matched[at] ?? -1) : after.length;
    added(same);
    if (at < before.length) {
      marked.push({ text: ` ${after[same] ?? ""}`, line });
      line += 1;
      at += 1;
    }
  }
  added(after.length);
  return marked;
}

function linesOf(text: string): string[] {
  if (text === "") return [];
  return text.replace(/\r?\n$/, "").split(/\r?\n/);
}
