/** Formulas in Markdown: `$…$`, `$$…$$`, `\(…\)` and `\[…\]`, kept as they are written. Pure. */

import type MarkdownIt from "markdown-it";
import type { StateBlock, StateInline } from "markdown-it";

/** What closes each of them. */
const ENDS = new Map([["$$", "$$"], ["\\[", "\\]"], ["\\(", "\\)"], ["$", "$"]]);

export function addMaths(markdown: InstanceType<typeof MarkdownIt>): void {
  markdown.inline.ruler.before("escape", "math", inline);
  markdown.block.ruler.before("fence", "math", block, { alt: ["paragraph", "reference", "blockquote", "list"] });
}

function inline(state: StateInline, silent: boolean): boolean {
  const { src, pos, posMax } = state;
  const start = [...ENDS.keys()].find((one) => src.startsWith(one, pos));
  if (start === undefined) return false;
  const end = ENDS.get(start) ?? "";
  const close = src.indexOf(end, pos + start.length);
  if (close < 0 || close + end.length > posMax) return false;
  const text = src.slice(pos + start.length, close);
  if (text.trim() === "" || (start === "$" && !standsAlone(src, pos, close, text))) return false;
  if (!silent) {
    const token = state.push("math_inline", "", 0);
    token.content = text.trim();
  }
  state.pos = close + end.length;
  return true;
}

/** Amounts of money and variables of a shell have dollars, too. */
function standsAlone(src: string, pos: number, close: number, text: string): boolean {
  return !/[\w\\$]/.test(src.charAt(pos - 1)) && !/^\s|\s$|`|\n/.test(text) && !/[\w$]/.test(src.charAt(close + 1));
}

/** From a line that begins with `$$` or `\[` to the one that ends with its other half, or to an empty one: so no later line
 * changes what stands above it. */
function block(state: StateBlock, first: number, last: number, silent: boolean): boolean {
  const lineAt = (line: number): string => state.src.slice((state.bMarks[line] ?? 0) + (state.tShift[line] ?? 0), state.eMarks[line]);
  const head = lineAt(first);
  const start = ["$$", "\\["].find((one) => head.startsWith(one));
  if (start === undefined || (state.sCount[first] ?? 0) - state.blkIndent >= 4) return false;
  const end = ENDS.get(start) ?? "";
  const rest = head.slice(start.length);
  const inHead = rest.indexOf(end);
  if (inHead >= 0 && rest.slice(inHead + end.length).trim() !== "") return false; // words follow: it stands in a line
  if (silent) return true;
  const lines = [rest];
  let line = first;
  while (!(lines.at(-1) ?? "").trimEnd().endsWith(end) && line + 1 < last && !state.isEmpty(line + 1) && (state.sCount[line + 1] ?? 0) >= state.blkIndent) {
    line += 1;
    lines.push(lineAt(line));
  }
  const text = lines.join("\n").trimEnd();
  const token = state.push("math_block", "", 0);
  token.block = true;
  token.content = (text.endsWith(end) ? text.slice(0, -end.length) : text).trim();
  token.map = [first, line + 1];
  state.line = line + 1;
  return true;
}
