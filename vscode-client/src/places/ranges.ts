/** Places in a text: which lines a selection means, and how a part of a text is called. */

interface Position {
  line: number;
  character: number;
}

export interface Lines {
  /** From 0, both inclusive. */
  first: number;
  last: number;
}

/** The lines that a selection touches. One that ends before the first character of a line does not touch that line. */
export function linesOf({ start, end }: { start: Position; end: Position }): Lines {
  const last = end.line > start.line && end.character === 0 ? end.line - 1 : end.line;
  return { first: start.line, last };
}

/** So many lines more on both sides, of a text that has `count` lines. */
export function around({ first, last }: Lines, more: number, count: number): Lines {
  return { first: Math.max(first - more, 0), last: Math.min(last + more, Math.max(count - 1, 0)) };
}

/** As people and editors count: from 1. */
export function nameOf(path: string, { first, last }: Lines): string {
  return first === last ? `${path}:${first + 1}` : `${path}:${first + 1}-${last + 1}`;
}

/** As an address names them. */
export function fragmentOf({ first, last }: Lines): string {
  return `L${first + 1}-L${last + 1}`;
}
