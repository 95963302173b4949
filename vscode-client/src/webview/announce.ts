/** For those who hear the page: each answer once, when it is whole; not each of its pieces. */

import type { Item, State } from "../messages";
import { lastAnswer } from "./list";
import { say } from "./live";

/** Questions that were said: they come again when something about them changes. */
const asked = new Set<string>();
let busy = false;

export function showState(state: State): void {
  // At the next frame the answer's last piece is drawn.
  if (busy && !state.busy) requestAnimationFrame(() => say(lastAnswer()));
  busy = state.busy;
}

export function noteItem(item: Item): void {
  if ("options" in item && item.decision === undefined && !asked.has(item.id)) {
    asked.add(item.id);
    say(item.heading);
  }
  if (item.kind === "failure") say(item.text);
}
