/** Which lines of one text are still there in another. */

/** So many differences are looked for; texts that differ more have nothing in common but their ends. */
const MOST_CHANGES = 1_000;

/** For each line of the first text the line of the second that it is, or -1; in order, and as many as can be. */
export function matchLines(one: string[], two: string[]): Int32Array {
  const a = one.map(withoutEnd);
  const b = two.map(withoutEnd);
  const matched = new Int32Array(a.length).fill(-1);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) {
    matched[start] = start;
    start += 1;
  }
  let [endA, endB] = [a.length, b.length];
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) {
    endA -= 1;
    endB -= 1;
    matched[endA] = endB;
  }
  for (const [x, y] of common(a.slice(start, endA), b.slice(start, endB))) matched[start + x] = start + y;
  return matched;
}

/** The pairs of a longest common subsequence, found by the fewest insertions and deletions. */
function common(a: string[], b: string[]): [number, number][] {
  const most = Math.min(a.length + b.length, MOST_CHANGES);
  const furthest = new Int32Array(2 * most + 3);
  const at = (diagonal: number): number => furthest[diagonal + most + 1] ?? 0;
  const steps: Int32Array[] = [];
  for (let changes = 0; changes <= most; changes += 1) {
    steps.push(furthest.slice());
    for (let diagonal = -changes; diagonal <= changes; diagonal += 2) {
      const down = diagonal === -changes || (diagonal !== changes && at(diagonal - 1) < at(diagonal + 1));
      let x = down ? at(diagonal + 1) : at(diagonal - 1) + 1;
      while (x < a.length && x - diagonal < b.length && a[x] === b[x - diagonal]) x += 1;
      furthest[diagonal + most + 1] = x;
      if (x >= a.length && x - diagonal >= b.length) return walkBack(steps, a.length, b.length, most);
    }
  }
  return [];
}

function walkBack(steps: Int32Array[], endA: number, endB: number, most: number): [number, number][] {
  const pairs: [number, number][] = [];
  let [x, y] = [endA, endB];
  for (let changes = steps.length - 1; changes >= 0; changes -= 1) {
    const before = steps[changes] ?? new Int32Array();
    const at = (diagonal: number): number => before[diagonal + most + 1] ?? 0;
    const diagonal = x - y;
    const down = diagonal === -changes || (diagonal !== changes && at(diagonal - 1) < at(diagonal + 1));
    const from = down ? diagonal + 1 : diagonal - 1;
    const [fromX, fromY] = changes === 0 ? [0, 0] : [at(from), at(from) - from];
    while (x > Math.max(fromX, 0) && y > Math.max(fromY, 0)) {
      x -= 1;
      y -= 1;
      pairs.push([x, y]);
    }
    [x, y] = [fromX, fromY];
  }
  return pairs;
}

function withoutEnd(line: string): string {
  return line.endsWith("\r\n") ? line.slice(0, -2) : line.endsWith("\n") ? line.slice(0, -1) : line;
}
