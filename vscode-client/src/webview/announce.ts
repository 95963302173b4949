/** For those who hear the page: each answer once, when it is whole; not each of its pieces. */

import type { Item, State } from "../messages";
import { find } from "./host";
import { lastAnswer } from "./list";

const place = find("#announce", HTMLElement);
/** The rest is read in the conversation. */
const LONGEST = 1_000;
let busy = false;

export function showState(state: State): void {
  // At the next frame the answer's last piece is drawn.
  if (busy && !state.busy) requestAnimationFrame(() => setTimeout(() => say(lastAnswer()), 50));
  busy = state.busy;
}

export function noteItem(item: Item): void {
  if ("options" in item && item.decision === undefined) say(item.heading);
  if (item.kind === "failure") say(item.text);
}

function say(text: string): void {
  place.textContent = text.length > LONGEST ? `${text.slice(0, LONGEST)} …` : text;
}
