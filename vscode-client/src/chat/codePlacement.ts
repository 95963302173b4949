/** Where a piece of code belongs in a file: in the place of what it is a new version of, as far as that can be told. Pure. */

export interface CodePlacement {
  /** Lines from 0; `end` is the line after the last one that is replaced. */
  start: number;
  end: number;
  lines: string[];
}

/** Undefined where nothing in the file looks like the code. */
export function placeOf(code: string, file: string): CodePlacement | undefined {
  const lines = trimBlank(code.split(/\r?\n/));
  const text = file.split(/\r?\n/);
  const [first] = lines;
  if (first === undefined) return undefined;
  const start = onlyPlace(text, first.trim());
  if (start === undefined) return undefined;
  const moved = indented(lines, indentOf(text[start] ?? ""), indentOf(first));
  if (blockEnd(lines, 0) === lines.length) return { start, end: blockEnd(text, start), lines: moved };
  const last = lines.at(-1)?.trim() ?? "";
  const end = text.findIndex((line, at) => at >= start + 1 && line.trim() === last);
  const isOnly = end >= 0 && text.slice(end + 1).every((line) => line.trim() !== last);
  return isOnly ? { start, end: end + 1, lines: moved } : undefined;
}

function onlyPlace(text: string[], wanted: string): number | undefined {
  const found = text.flatMap((line, at) => (line.trim() === wanted ? [at] : []));
  return found.length === 1 && wanted.length > 2 ? found[0] : undefined;
}

/** The line after a block: after what stands deeper than its first line, and what closes it. */
function blockEnd(lines: string[], start: number): number {
  const depth = indentOf(lines[start] ?? "").length;
  let end = start + 1;
  for (let at = start + 1; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    if (line.trim() === "") continue;
    const closes = indentOf(line).length === depth && /^[)\]}]|^end\b/.test(line.trim());
    if (indentOf(line).length <= depth && !closes) break;
    end = at + 1;
    if (closes && !/[:{(]\s*$/.test(line)) break;
  }
  return end;
}

function indented(lines: string[], to: string, from: string): string[] {
  if (to === from) return lines;
  return lines.map((line) => (line.trim() === "" ? "" : line.startsWith(from) ? to + line.slice(from.length) : line));
}

function indentOf(line: string): string {
  return /^[ \t]*/.exec(line)?.[0] ?? "";
}

function trimBlank(lines: string[]): string[] {
  const first = lines.findIndex((line) => line.trim() !== "");
  return first < 0 ? [] : lines.slice(first, lines.findLastIndex((line) => line.trim() !== "") + 1);
}
