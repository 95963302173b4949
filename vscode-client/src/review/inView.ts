/** Where something can be seen in a diff that folds what is unchanged. */

import type { Place } from "./hunks";

/** So many unchanged lines stay in view beside a change: VS Code's own default. */
export const CONTEXT = 3;

/** The line, or else the one nearest to it that is in view; the line itself where nothing is changed. */
export function lineInView(line: number, places: readonly Place[], count: number, context = CONTEXT): number {
  const shown = places.filter(({ standing }) => standing !== "rejected").map(({ start, end, lead, trail }): [number, number] => {
    const [first, last] = [start + lead, Math.max(end - trail, start + lead + 1) - 1];
    return [Math.max(first - context, 0), Math.min(last + context, Math.max(count - 1, 0))];
  });
  const near = shown.map(([first, last]) => Math.min(Math.max(line, first), last));
  return near.sort((one, other) => Math.abs(one - line) - Math.abs(other - line))[0] ?? line;
}
