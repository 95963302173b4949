/** Lines of a text: the first and the last, both from 1 and inclusive. */
export type Lines = [first: number, last: number];

/** So many lines more on both sides, of a text that has `count` lines. */
export function around([first, last]: Lines, more: number, count: number): Lines {
  return [Math.max(first - more, 1), Math.min(last + more, Math.max(count, 1))];
}
