/** The first page, in place of a conversation that is still empty. */

import type { Remedy, SetupRow, Welcome } from "../messages";
import { offerExample } from "./composer";
import { find, post } from "./host";
import { element } from "./rows";

const start = find("#start", HTMLElement);
let shown = "";

/** Drawn anew only when something has changed: a button keeps the focus. */
export function showWelcome(welcome: Welcome): void {
  const now = JSON.stringify(welcome);
  if (now === shown) return;
  shown = now;
  const heading = element("h2", "", welcome.heading);
  const parts = [heading, element("p", "", welcome.words), ...examples(welcome), ...setup(welcome), button(welcome.more, "plain")];
  start.replaceChildren(...parts);
}

/** The list says whether it has anything to show. */
export function showStart(empty: boolean): void {
  start.hidden = !empty;
}

function examples({ examplesHeading, examples: texts }: Welcome): HTMLElement[] {
  const list = element("div", "examples", "");
  for (const text of texts) {
    const made = element("button", "secondary example", text);
    made.addEventListener("click", () => offerExample(text));
    list.append(made);
  }
  return [element("h3", "", examplesHeading), list];
}

function setup({ setupHeading, setup: rows }: Welcome): HTMLElement[] {
  if (rows.length === 0) return [];
  const list = element("ul", "setup", "");
  list.append(...rows.map(setupRow));
  return [element("h3", "", setupHeading), list];
}

function setupRow({ id, done, state, words, remedy }: SetupRow): HTMLElement {
  const made = element("li", done ? "done" : "open", "");
  made.dataset.step = id;
  const mark = element("span", "mark", done ? "✓" : "○");
  mark.setAttribute("role", "img");
  mark.setAttribute("aria-label", state);
  made.append(mark, element("span", "words", words));
  if (remedy !== undefined) made.append(button(remedy, done ? "plain" : "secondary"));
  return made;
}

function button({ command, label }: Remedy, kind: string): HTMLElement {
  const made = element("button", kind, label);
  made.addEventListener("click", () => post({ type: "run", command }));
  return made;
}
