import { at } from "./support/page";
import { press, stops } from "./support/focus";

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Item, Question, State } from "../src/messages";

const frames: (() => void)[] = [];
class Observer {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
}
Object.assign(globalThis, {
  window: document.defaultView,
  Element: (document.defaultView as Window & typeof globalThis).Element,
  IntersectionObserver: Observer,
  ResizeObserver: Observer,
  requestAnimationFrame: (act: () => void) => frames.push(act),
  requestIdleCallback: (act: () => void) => frames.push(act),
});
for (const [tag, id] of [["main", "rows"], ["p", "announce"], ["section", "waiting"], ["textarea", "input"]] as const) {
  const made = document.createElement(tag);
  made.id = id;
  document.body.append(made);
}

const list = await import("../src/webview/list");
const announce = await import("../src/webview/announce");

const drawn = (): void => {
  while (frames.length > 0) frames.splice(0).forEach((act) => act());
};
const state = (busy: boolean) => ({ busy }) as State;
const put = (...items: Item[]): void => {
  for (const item of items) {
    announce.noteItem(item);
    list.put(item);
  }
  drawn();
};
const question = (id: string, more: Partial<Question> = {}): Question => ({
  kind: "command", id, title: "", heading: `Run ${id}?`, markdown: `\`${id}\``, hasDiff: false,
  options: [{ id: "run", name: "Run", rejects: false, lasts: false }, { id: "deny", name: "Deny", rejects: true, lasts: false }], ...more,
});

/** What was said from here on. */
function listen(): string[] {
  const heard: string[] = [];
  let text = at("#announce").textContent ?? "";
  Object.defineProperty(at("#announce"), "textContent", { get: () => text, set: (words: string) => heard.push((text = words)), configurable: true });
  return heard;
}

function turn(...items: Item[]): void {
  announce.showState(state(true));
  put(...items);
  announce.showState(state(false));
  drawn();
}

test("rows are articles with a name and a place", () => {
  list.replaceAll([{ kind: "user", id: "u", text: "hello" }, { kind: "answer", id: "a", markdown: "hi" }]);
  assert.deepEqual(
    [...document.querySelectorAll("#rows .row")].map((row) => ["role", "aria-label", "aria-posinset"].map((name) => row.getAttribute(name))),
    [["article", "You", "1"], ["article", "North", "2"]],
  );
});

test("a row that one comes to is read with what it says, and is called as before when one goes on", () => {
  list.replaceAll([{ kind: "user", id: "u", text: "hello" }, { kind: "answer", id: "a", markdown: "hi **there**" }]);
  at(".answer").focus();
  assert.equal(at(".answer").getAttribute("aria-label"), "North: hi there");
  press("ArrowUp");
  assert.equal(at(".answer").getAttribute("aria-label"), "North");
  assert.equal(at(".user").getAttribute("aria-label"), "You: hello");
});

test("each answer is said once and whole, also one that says the same again", () => {
  list.replaceAll([]);
  const heard = listen();
  announce.showState(state(true));
  put({ kind: "user", id: "u1", text: "x" }, { kind: "answer", id: "a1", markdown: "One" });
  for (const word of [" answer", " of", " words."]) list.append("a1", word);
  drawn();
  assert.deepEqual(heard, []);
  announce.showState(state(false));
  drawn();
  turn({ kind: "user", id: "u2", text: "x" }, { kind: "answer", id: "a2", markdown: "One answer of words." });
  assert.deepEqual(heard, ["One answer of words.", "One answer of words.\u00a0"]);
});

test("a turn without an answer does not say the one before again", () => {
  list.replaceAll([{ kind: "user", id: "u", text: "x" }, { kind: "answer", id: "a", markdown: "Old." }]);
  const heard = listen();
  turn({ kind: "user", id: "v", text: "y" }, { kind: "notice", id: "n", severity: "info", text: "Stopped." });
  assert.deepEqual(heard, []);
});

test("a question is said once, whatever changes about it", () => {
  list.replaceAll([]);
  const heard = listen();
  put(question("q1"), question("q1", { markdown: "more" }), question("q2"));
  assert.deepEqual(heard, ["Run q1?", "Run q2?"]);
});

test("the decision by keyboard leads to the next question, never to one of its buttons, and at last to the input", () => {
  list.replaceAll([]);
  put(question("q3"), question("q4"));
  stops(at("#waiting")).find((one) => one.textContent === "Run")?.focus();
  put(question("q3", { decision: "Run" }));
  assert.equal(document.activeElement, at("#waiting .body"));
  put(question("q4", { decision: "Run" }));
  assert.equal(document.activeElement, at("#input"));
});

test("a row that is drawn anew keeps the focus", () => {
  list.replaceAll([]);
  const changes: Item = { kind: "changes", id: "c", text: "1 file changed", note: "", files: [], buttons: [{ act: "show", text: "Show Changes" }, { act: "undo", text: "Undo" }] };
  put(changes);
  [...document.querySelectorAll<HTMLElement>("#rows button")].at(-1)?.focus();
  put({ ...changes, note: "undone", buttons: [{ act: "redo", text: "Redo" }] });
  assert.equal(document.activeElement, at("#rows .changes"));
});

test("what comes is followed until one scrolls up oneself", () => {
  const rows = at("#rows");
  let height = 1000;
  let top = 0;
  Object.defineProperties(rows, {
    scrollHeight: { get: () => height, configurable: true },
    clientHeight: { get: () => 300, configurable: true },
    scrollTop: { get: () => top, set: (wanted: number) => (top = Math.min(wanted, height - 300)), configurable: true },
  });
  const { Event: PageEvent } = document.defaultView as Window & typeof globalThis;
  const scrolled = () => rows.dispatchEvent(new PageEvent("scroll"));
  const grow = (by: number): void => {
    height += by;
    scrolled(); // of what was scrolled before
    put({ kind: "notice", id: `n${height}`, severity: "info", text: "more" });
  };
  list.scrollToEnd();
  assert.equal(top, 700);
  grow(200); // a tall row
  assert.equal(top, 900);
  rows.scrollTop = 100;
  grow(200);
  assert.equal(top, 100);
  rows.scrollTop = height;
  scrolled();
  grow(200);
  assert.equal(top, 1300);
});
