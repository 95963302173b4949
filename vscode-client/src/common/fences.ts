/** Code as a block of Markdown. Pure. */

/** Nothing in the code ends the block. */
export function fenced(code: string, language: string): string {
  const runs = code.match(/`+/g) ?? [];
  const fence = "`".repeat(Math.max(3, ...runs.map(({ length }) => length + 1)));
  return `${fence}${language}\n${code}\n${fence}\n`;
}
