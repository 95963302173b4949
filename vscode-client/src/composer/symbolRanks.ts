/** Which symbols are offered, and which lines belong to one: without the editor's API. */

const MOST = 6;

/** The name itself before names that begin like that, before those that have the word in them; shorter ones first. */
export function bestSymbols<Found extends { name: string }>(found: readonly Found[], query: string): Found[] {
  const wanted = query.toLowerCase();
  const rank = ({ name }: Found): number => {
    const known = name.toLowerCase();
    return known === wanted ? 0 : known.startsWith(wanted) ? 1 : known.includes(wanted) ? 2 : 3;
  };
  return [...found].sort((one, other) => rank(one) - rank(other) || one.name.length - other.name.length).slice(0, MOST);
}

interface Nested {
  name: string;
  range: { start: { line: number }; end: { line: number } };
  children: readonly this[];
}

/** The symbol with a name that a line is in, the innermost one. */
export function innermost<Found extends Nested>(symbols: readonly Found[], name: string, line: number): Found | undefined {
  for (const symbol of symbols) {
    const { range } = symbol;
    if (line < range.start.line || line > range.end.line) continue;
    const inner = innermost(symbol.children as readonly Found[], name, line);
    if (inner !== undefined) return inner;
    if (plain(symbol.name) === plain(name)) return symbol;
  }
  return undefined;
}

/** Some language servers add what a function takes. */
function plain(name: string): string {
  return name.replace(/\(.*$/s, "");
}
