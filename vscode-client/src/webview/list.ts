/** The conversation: its rows, which are made once and changed, and the place that is looked at. */

import type { Item } from "../messages";
import { find, post, remember, remembered } from "./host";
import { Following, type Measures } from "./following";
import { Groups } from "./groups";
import { forgetQuestions, noteQuestion, showQuestion } from "./pinned";
import { iconButton } from "./elements";
import { redraw, setHidden } from "./focus";
import { nameOf, shortened, wordsOf } from "./names";
import type { Actions } from "./rows";
import { WORDS } from "./texts";
import { lookForSymbols } from "./symbols";
import { fill, type Show } from "./views";
import { Walk } from "./walk";

const rows = find("#rows", HTMLElement);

const actions: Actions = {
  open: (file, line) => post({ type: "open", file, line }),
  openDiff: (id, part) => post({ type: "diff", id, part }),
  decide: (id, option, comment, command) => post({ type: "decide", id, option, comment, ...(command === undefined ? {} : { command }) }),
  fill: (id, values) => post({ type: "fill", id, values }),
  review: (id) => post({ type: "review", id }),
  retry: (now) => post({ type: "retry", now }),
  showWhole: (artifact) => post({ type: "wholeOutput", artifact }),
  showTerminal: () => post({ type: "run", command: "north.showTerminal" }),
  onPrompt: (entry, act) => post({ type: "prompt", entry, act }),
  onTask: (task, act) => post({ type: "task", task, act }),
  afterFailure: (action) => post({ type: "failure", action }),
};

interface Row {
  item: Item;
  element: HTMLElement;
  /** Undefined until the row is filled. */
  show: Show | undefined;
}

const all = new Map<string, Row>();
const groups = new Groups(rows);
/** Rows to draw at the next frame: streamed text comes in faster than it has to be drawn. */
const stale = new Set<Row>();
/** Rows of a conversation that was loaded, and that are filled as they come near, or when there is nothing else to do. */
const unfilled = new Set<Row>();
const byElement = new WeakMap<Element, Row>();
const following = new Following();

/** So many rows are filled at once. */
const FIRST = 40;
const NEAR = "1200px";
const SLICE_MS = 8;

export function put(item: Item): void {
  const row = all.get(item.id);
  if (row === undefined) {
    drawLater(add(item));
    return;
  }
  row.item = item;
  noteQuestion(item);
  groups.note(item);
  drawLater(row);
}

/** A streamed text goes on. */
export function append(id: string, markdown: string): void {
  const row = all.get(id);
  if (row?.item.kind !== "answer" && row?.item.kind !== "thought") return;
  row.item = { ...row.item, markdown: row.item.markdown + markdown };
  drawLater(row);
}

export function replaceAll(items: Item[]): void {
  all.clear();
  stale.clear();
  unfilled.clear();
  near.disconnect();
  groups.clear();
  forgetQuestions();
  rows.replaceChildren();
  const made = items.map(add);
  const early = made.slice(0, -FIRST);
  for (const row of early) {
    unfilled.add(row);
    near.observe(row.element);
  }
  for (const row of made.slice(-FIRST)) draw(row);
  showQuestion(actions);
  walk.toNewest();
  restorePlace();
  lookForSymbols();
  if (early.length > 0) requestIdleCallback(fillSome);
}

export function scrollToEnd(): void {
  following.isOn = true;
  setHidden(toEnd, true);
  rows.scrollTop = rows.scrollHeight;
  following.note(measures());
}

/** The words of the last answer to what was said last, for those who hear the page; empty if there is none. */
export function lastAnswer(): string {
  for (let one = rows.lastElementChild; one !== null && !one.matches(".user"); one = one.previousElementSibling) {
    if (one.matches(".answer")) return wordsOf(one);
  }
  return "";
}

function add(item: Item): Row {
  const element = document.createElement("div");
  element.className = `row ${item.kind}`;
  element.dataset.id = item.id;
  element.tabIndex = -1;
  element.setAttribute("role", "article");
  element.setAttribute("aria-label", nameOf(item));
  const row: Row = { item, element, show: undefined };
  all.set(item.id, row);
  element.setAttribute("aria-posinset", String(all.size));
  element.setAttribute("aria-setsize", "-1");
  byElement.set(element, row);
  groups.place(item, element);
  noteQuestion(item);
  return row;
}

function draw(row: Row): void {
  const { element, item } = row;
  const show = (row.show ??= fill(element, item, actions));
  redraw(element, () => show(item), () => element.focus());
  if (document.activeElement !== element) setName(row);
  walk.drawn(element);
}

function drawLater(row: Row): void {
  if (stale.size === 0) requestAnimationFrame(drawStale);
  stale.add(row);
}

function drawStale(): void {
  for (const row of stale) {
    if (!unfilled.has(row)) draw(row);
  }
  stale.clear();
  showQuestion(actions);
  walk.toNewest();
  if (following.isOn) scrollToEnd();
  lookForSymbols();
}

// -- a long conversation ------------------------------------------------------------------------------------------------

const near = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      const row = byElement.get(entry.target);
      if (entry.isIntersecting && row !== undefined) fillNow(row);
    }
    if (following.isOn) scrollToEnd();
  },
  { root: rows, rootMargin: NEAR },
);

function fillNow(row: Row): void {
  if (!unfilled.delete(row)) return;
  near.unobserve(row.element);
  draw(row);
}

/** The newest first: that is where one scrolls to. */
function fillSome(): void {
  const end = performance.now() + SLICE_MS;
  for (const row of [...unfilled].reverse()) {
    if (performance.now() > end) break;
    fillNow(row);
  }
  if (following.isOn) scrollToEnd();
  if (unfilled.size > 0) requestIdleCallback(fillSome);
}

// -- by keyboard --------------------------------------------------------------------------------------------------------

const walk = new Walk(rows, comeTo, (element) => {
  const row = byElement.get(element);
  if (row !== undefined) setName(row);
});

function setName({ element, item }: Row): void {
  const name = nameOf(item);
  if (element.getAttribute("aria-label") !== name) element.setAttribute("aria-label", name);
}

/** A row that gets the focus is read: what was said, with who said it. */
function comeTo(element: HTMLElement): void {
  const row = byElement.get(element);
  if (row === undefined) return;
  fillNow(row);
  if (element.nextElementSibling !== null) following.isOn = false; // it is not scrolled away from
  const { item } = row;
  if (item.kind === "user" || item.kind === "answer") element.setAttribute("aria-label", shortened(`${nameOf(item)}: ${wordsOf(element)}`));
}

// -- the place that is looked at ----------------------------------------------------------------------------------------

const toEnd = iconButton("arrow-down", WORDS.toEnd, scrollToEnd);
toEnd.id = "to-end";
toEnd.hidden = true;
rows.after(toEnd);

let remembering: ReturnType<typeof setTimeout> | undefined;

rows.addEventListener("scroll", () => {
  if (rows.clientHeight === 0) return; // hidden
  if (following.scrolled(measures())) scrollToEnd();
  setHidden(toEnd, following.isOn);
  clearTimeout(remembering);
  remembering = setTimeout(() => remember({ place: following.isOn ? undefined : placeNow() }), 300);
});
new ResizeObserver(() => {
  if (rows.clientHeight === 0) return;
  if (following.isOn) scrollToEnd();
  else following.note(measures());
}).observe(rows);
// What has come into view may be higher than it was thought to be.
rows.addEventListener("contentvisibilityautostatechange", () => {
  if (following.isOn && rows.clientHeight > 0) scrollToEnd();
});

function measures(): Measures {
  return { top: rows.scrollTop, height: rows.scrollHeight, view: rows.clientHeight };
}

/** The first row in view, and how far it is scrolled. */
function placeNow(): { id: string; offset: number } | undefined {
  const { top, left, width } = rows.getBoundingClientRect();
  for (const below of [2, 12, 24]) {
    const element = document.elementFromPoint(left + width / 2, top + below)?.closest(".row");
    const row = element == null ? undefined : byElement.get(element);
    if (row !== undefined) return { id: row.item.id, offset: top - row.element.getBoundingClientRect().top };
  }
  return undefined;
}

function restorePlace(): void {
  const { place } = remembered();
  const row = place === undefined ? undefined : all.get(place.id);
  if (place === undefined || row === undefined) return scrollToEnd();
  following.isOn = false;
  toEnd.hidden = false;
  fillNow(row);
  row.element.scrollIntoView({ block: "start" });
  rows.scrollTop += place.offset;
}
