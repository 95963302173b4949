/** Names in the code of answers that the language servers know lead there, once the extension has said which they are. */

import type { State } from "../messages";
import { find, post } from "./host";

const rows = find("#rows", HTMLElement);
/** Undefined: asked about and not answered. */
const known = new Map<string, boolean | undefined>();
/** So many are asked about at once, and of one page: language servers have other work, too. */
const [AT_ONCE, MOST] = [40, 400];
const PAUSE_MS = 400;
let busy = false;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Something was drawn: what is new in it is asked about when nothing more comes for a moment. */
export function lookForSymbols(): void {
  clearTimeout(timer);
  timer = setTimeout(look, PAUSE_MS);
}

/** The extension has looked for these: `found` are those that lead somewhere. */
export function showSymbols(asked: string[], found: string[]): void {
  for (const name of asked) known.set(name, found.includes(name));
  look();
}

/** When a turn has ended, the language servers may know more than before. */
export function showState(state: State): void {
  if (busy && !state.busy) {
    for (const [name, isThere] of known) if (isThere === false) known.delete(name);
    lookForSymbols();
  }
  busy = state.busy;
}

function look(): void {
  const wanted = new Set<string>();
  const named = [...rows.querySelectorAll<HTMLElement>(".answer code[data-symbol]:not([role])")];
  for (const code of named.reverse()) {
    const name = code.dataset.symbol ?? "";
    if (code.closest("a") !== null) continue;
    if (known.get(name) === true) makeLink(code);
    else if (!known.has(name) && wanted.size < Math.min(AT_ONCE, MOST - known.size)) wanted.add(name);
  }
  if (wanted.size === 0) return;
  for (const name of wanted) known.set(name, undefined);
  post({ type: "symbols", names: [...wanted] });
}

/** A stop of the Tab key as soon as its row is one (see `walk.ts`). */
function makeLink(code: HTMLElement): void {
  code.setAttribute("role", "link");
  code.title = code.dataset.symbol ?? "";
  code.tabIndex = code.closest(".row")?.getAttribute("tabindex") === "0" ? 0 : -1;
}
