/** What North proposes while the user types: where VS Code can show it itself, and how it is drawn elsewhere. Needs no editor. */

import type { Position } from "./answers";

export interface Range {
  start: Position;
  end: Position;
}

/** A text that comes in place of another one, as LSP's inline completion has it. */
export interface Suggested {
  insertText: string;
  range: Range;
}

/** A part of a line: what goes, and what is shown behind it as coming. */
export interface Piece {
  range: Range;
  added: string;
}

/** Stands for the end of a line, which no decoration can have. */
const NEW_LINE = "↵";

/** Whether VS Code shows it at the cursor as its own ghost text: it only adds, there. `old` is what it comes in place of. */
export function fitsAtCursor({ insertText, range: { start, end } }: Suggested, old: string, cursor: Position): boolean {
  const isInLine = start.line === cursor.line && end.line === cursor.line;
  if (!isInLine || cursor.character < start.character || cursor.character > end.character) return false;
  const before = old.slice(0, cursor.character - start.character);
  const after = old.slice(before.length);
  return insertText.length > old.length && insertText.startsWith(before) && insertText.endsWith(after);
}

/** What is drawn, line by line: each old line with the new one behind it, and those that are new behind the last. */
export function piecesOf({ insertText, range: { start, end } }: Suggested, old: string): Piece[] {
  const gone = old.split(/\r?\n/);
  const come = insertText.split(/\r?\n/);
  return gone.flatMap((text, index): Piece[] => {
    const isLast = index === gone.length - 1;
    const line = start.line + index;
    const first = index === 0 ? start.character : 0;
    const range = { start: { line, character: first }, end: isLast ? end : { line, character: first + text.length } };
    const rest = isLast ? come.slice(index) : come.slice(index, index + 1);
    if (!isLast && rest[0] === text) return [];
    const added = rest.join(NEW_LINE);
    return text === "" && added === "" ? [] : [{ range, added }];
  });
}

/** The answer to LSP's inline completion: its first item. */
export function firstOf(answer: unknown): Suggested | undefined {
  const items = field(answer, "items");
  const item: unknown = Array.isArray(items) ? items[0] : undefined;
  const insertText = field(item, "insertText");
  const start = positionOf(field(field(item, "range"), "start"));
  const end = positionOf(field(field(item, "range"), "end"));
  return typeof insertText === "string" && start !== undefined && end !== undefined ? { insertText, range: { start, end } } : undefined;
}

function positionOf(value: unknown): Position | undefined {
  const line = field(value, "line");
  const character = field(value, "character");
  return typeof line === "number" && typeof character === "number" ? { line, character } : undefined;
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
