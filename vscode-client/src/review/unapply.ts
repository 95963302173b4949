/** The text before a change, from the text after it and the unified diff between them. */

import { splitLines } from "./hunks";

const HEAD = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** Undefined where the diff does not belong to the text. */
export function unapply(text: string, diff: string): string | undefined {
  const lines = splitLines(text);
  const rows = splitLines(diff);
  const before: string[] = [];
  let at = 0;
  for (let index = 0; index < rows.length; index += 1) {
    const head = HEAD.exec(rows[index] ?? "");
    if (head === null) continue;
    const count = Number(head[4] ?? 1);
    const start = count > 0 ? Number(head[3]) - 1 : Number(head[3]);
    if (start < at) return undefined;
    before.push(...lines.slice(at, start));
    at = start;
    for (; index + 1 < rows.length && !rows[index + 1]?.startsWith("@@"); index += 1) {
      const row = rows[index + 1] ?? "";
      if (row.startsWith("-")) before.push(withoutMark(row, rows[index + 2]));
      else if (row.startsWith("+")) at += 1;
      else if (row.startsWith(" ")) {
        const line = lines[at];
        if (line === undefined) return undefined;
        before.push(line);
        at += 1;
      } else if (!row.startsWith("\\")) break;
    }
    if (at !== start + count || at > lines.length) return undefined;
  }
  return [...before, ...lines.slice(at)].join("");
}

/** A removed line; the next row may say that no line end follows it. */
function withoutMark(row: string, next: string | undefined): string {
  const line = row.slice(1);
  return next?.startsWith("\\") ? line.replace(/\n$/, "") : line;
}
