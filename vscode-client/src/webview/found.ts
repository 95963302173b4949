/** What a search has found, a line each: the places in it are links. */

import { element, scrolls } from "./elements";
import { WORDS } from "./texts";

/** `src/a.py:12: text`, or a path alone. */
const PLACE = /^(.+?):(\d+)(?=: |$)|^(?:[^\s:]+\/)*[^\s:/]+\.[^\s:./]+(?=: |$)/;

/** What was read has numbers in front. */
const NUMBERED = /^>?\s*\d+ {2}/;

/** Undefined for a text that has no such line. */
export function foundLines(text: string): HTMLElement | undefined {
  const lines = text.split("\n");
  if (NUMBERED.test(text) || !lines.some((line) => PLACE.test(line))) return undefined;
  const made = scrolls(element("div", "found"), WORDS.found);
  for (const line of lines) {
    const row = element("div", "");
    const place = PLACE.exec(line);
    if (place !== null) row.append(linkTo(place[1] ?? place[0], place[2], place[0]));
    row.append(line.slice(place?.[0].length ?? 0));
    made.append(row);
  }
  return made;
}

function linkTo(path: string, line: string | undefined, words: string): HTMLElement {
  const made = element("a", "", words);
  made.dataset.path = path;
  if (line !== undefined) made.dataset.line = line;
  made.title = words;
  made.setAttribute("role", "link");
  made.tabIndex = -1; // see `walk.ts`
  return made;
}
