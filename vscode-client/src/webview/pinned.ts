/** The question that has waited longest stands above the input, whole, wherever the conversation is scrolled to. */

import type { Item, Question } from "../messages";
import { handOver, toInput } from "./focus";
import { formCard } from "./form";
import { find } from "./host";
import { type Actions, card } from "./rows";
import { WORDS } from "./texts";

const waiting = find("#waiting", HTMLElement);
const open = new Map<string, Question>();

export function noteQuestion(item: Item): void {
  if (!("options" in item)) return;
  if (item.decision === undefined) open.set(item.id, item);
  else open.delete(item.id);
}

export function forgetQuestions(): void {
  open.clear();
}

export function showQuestion(actions: Actions): void {
  const [first] = open.values();
  waiting.hidden = first === undefined;
  if (first === undefined) return handOver(waiting, () => waiting.replaceChildren(), toInput);
  const more = open.size > 1 ? WORDS.firstOf(open.size) : "";
  if (waiting.dataset.question !== first.id || waiting.childElementCount === 0) {
    waiting.dataset.question = first.id;
    // Not to a button: nothing is decided by the key that has decided the one before.
    handOver(waiting, () => waiting.replaceChildren(first.fields === undefined ? card(first, actions) : formCard(first, actions)), toQuestion);
  }
  const note = waiting.querySelector(".more");
  if (note !== null) note.textContent = more;
}

function toQuestion(): void {
  const body = waiting.querySelector<HTMLElement>(".body");
  if (body === null) toInput();
  else body.focus();
}
