/** The conversation: its rows, and the question that waits, which stands below them. */

import type { Item } from "../messages";
import { find, post } from "./host";
import { type Actions, card, row } from "./rows";
import { showStart } from "./start";

const rows = find("#rows", HTMLElement);
const waiting = find("#waiting", HTMLElement);

const actions: Actions = {
  open: (file, line) => post({ type: "open", file, line }),
  decide: (id, option, comment) => post({ type: "decide", id, option, comment }),
  review: (id) => post({ type: "review", id }),
  retry: (now) => post({ type: "retry", now }),
};

const items = new Map<string, Item>();
const elements = new Map<string, HTMLElement>();
/** Rows to draw at the next frame: streamed text comes in faster than it has to be drawn. */
const stale = new Set<string>();

function drawLater(id: string): void {
  if (stale.size === 0) requestAnimationFrame(draw);
  stale.add(id);
}

function draw(): void {
  const atEnd = rows.scrollHeight - rows.scrollTop - rows.clientHeight < 40;
  for (const id of stale) {
    const item = items.get(id);
    if (item === undefined) continue;
    const made = row(item, actions);
    const old = elements.get(id);
    if (old === undefined) rows.append(made);
    else old.replaceWith(made);
    elements.set(id, made);
  }
  stale.clear();
  pin();
  if (atEnd) scrollToEnd();
}

/** The question that has waited longest stands above the input, whole, wherever the conversation is scrolled to. */
function pin(): void {
  const open = [...items.values()].filter((item) => "options" in item && item.decision === undefined);
  const [first] = open;
  waiting.hidden = first === undefined;
  if (first === undefined || !("options" in first)) return waiting.replaceChildren();
  const more = open.length > 1 ? `1 of ${open.length} questions` : "";
  if (waiting.dataset.question !== first.id || waiting.childElementCount === 0) {
    waiting.dataset.question = first.id;
    waiting.replaceChildren(card(first, actions));
  }
  const note = waiting.querySelector(".more");
  if (note !== null) note.textContent = more;
}

export function put(item: Item): void {
  items.set(item.id, item);
  showStart(false);
  drawLater(item.id);
}

/** A streamed text goes on. */
export function append(id: string, markdown: string): void {
  const item = items.get(id);
  if (item?.kind === "answer" || item?.kind === "thought") put({ ...item, markdown: item.markdown + markdown });
}

export function replaceAll(all: Item[]): void {
  items.clear();
  elements.clear();
  rows.replaceChildren();
  pin();
  showStart(all.length === 0);
  for (const item of all) put(item);
}

export function scrollToEnd(): void {
  rows.scrollTop = rows.scrollHeight;
}

function follow(event: Event): void {
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  if (link === null) return;
  event.preventDefault();
  const { address } = link.dataset;
  if (address !== undefined) post({ type: "link", address });
}

for (const area of [rows, waiting]) {
  area.addEventListener("click", follow);
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter") follow(event);
  });
}
