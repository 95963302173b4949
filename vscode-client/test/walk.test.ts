import { div } from "./support/page";
import { press, stops } from "./support/focus";

import assert from "node:assert/strict";
import { test } from "node:test";

import { button, scrolls } from "../src/webview/elements";
import { Groups } from "../src/webview/groups";
import { hasMore, placeAfter, Walk } from "../src/webview/walk";

function row(...names: string[]): HTMLElement {
  const made = div();
  made.className = "row";
  made.tabIndex = -1;
  made.append(...names.map((name) => button(name, "", () => {})));
  return made;
}

/** A conversation with a button before and one behind it. */
function conversation(...rows: HTMLElement[]) {
  const all = div();
  all.append(...rows);
  document.body.replaceChildren(button("before", "", () => {}), all, button("behind", "", () => {}));
  const told: string[] = [];
  const walk = new Walk(all, (one) => told.push(`to ${one.textContent}`), (one) => told.push(`from ${one.textContent}`));
  for (const one of rows) walk.drawn(one);
  walk.toNewest();
  return { all, walk, told };
}

const tabs = (): string[] => stops(document.body).map((one) => one.textContent ?? "");

test("Tab goes through the newest row alone, however many there are", () => {
  conversation(...Array.from({ length: 300 }, (_, index) => row(`a${index}`, `b${index}`)));
  assert.deepEqual(tabs(), ["before", "a299b299", "a299", "b299", "behind"]);
});

test("the row that the user is at is the stop, and stays so while others come", () => {
  const rows = [row("one"), row("two"), row("three")];
  const { all, walk } = conversation(...rows);
  rows[2]?.focus();
  press("ArrowUp");
  assert.equal(document.activeElement, rows[1]);
  assert.deepEqual(tabs(), ["before", "two", "two", "behind"]);
  const four = row("four");
  all.append(four);
  walk.drawn(four);
  walk.toNewest();
  assert.deepEqual(tabs(), ["before", "two", "two", "behind"]);
  document.querySelector("button")?.focus();
  walk.toNewest();
  assert.deepEqual(tabs(), ["before", "four", "four", "behind"]);
});

test("what is drawn later in a row that is passed by is passed by, too", () => {
  const rows = [row("one"), row("two")];
  const { walk } = conversation(...rows);
  rows[0]?.append(button("late", "", () => {}));
  if (rows[0] !== undefined) walk.drawn(rows[0]);
  assert.deepEqual(tabs(), ["before", "two", "two", "behind"]);
});

test("Home and End lead to the ends, and beyond them no key leads", () => {
  const rows = [row("one"), row("two"), row("three")];
  conversation(...rows);
  rows[1]?.focus();
  press("Home");
  assert.equal(document.activeElement, rows[0]);
  assert.equal(press("ArrowUp"), true, "not taken");
  press("End");
  assert.equal(document.activeElement, rows[2]);
});

test("from what is in a row the arrows lead on, but not out of what one writes in, and not with other keys", () => {
  const rows = [row("one"), row("two")];
  const box = scrolls(div(), "Code");
  rows[0]?.append(document.createElement("textarea"), box);
  conversation(...rows);
  for (const inner of [rows[0]?.querySelector("textarea"), box]) {
    inner?.focus();
    press("ArrowDown");
    assert.equal(document.activeElement, inner);
  }
  const inner = rows[0]?.querySelector("button");
  inner?.focus();
  for (const held of ["ctrlKey", "altKey", "shiftKey", "metaKey"] as const) press("ArrowDown", { [held]: true });
  assert.equal(document.activeElement, inner);
  press("ArrowDown");
  assert.equal(document.activeElement, rows[1]);
});

test("a row is told that it is come to and left, not when one is in it", () => {
  const rows = [row("one"), row("two")];
  const { told } = conversation(...rows);
  rows[1]?.focus();
  press("ArrowUp");
  rows[0]?.querySelector("button")?.focus();
  assert.deepEqual(told, ["to two", "from two", "to one", "from one"]);
});

test("a folded group is one stop, an open one has its rows", () => {
  const all = div();
  const groups = new Groups(all);
  const rows = ["a", "b", "c"].map((name) => row(name));
  for (const [index, one] of rows.entries()) {
    groups.place({ kind: "tool", id: `t${index}`, title: "Reading", does: "read", status: "completed", group: "g", input: [], parts: [] }, one);
  }
  document.body.replaceChildren(all);
  const walk = new Walk(all, () => {}, () => {});
  for (const one of rows) walk.drawn(one);
  walk.toNewest();
  assert.deepEqual(tabs(), ["Read 3 times"]);
  const head = all.querySelector<HTMLElement>(".group-head");
  head?.focus();
  head?.dispatchEvent(new (document.defaultView as Window & typeof globalThis).Event("click"));
  press("ArrowDown");
  assert.equal(document.activeElement, rows[0]);
});

test("a group says in words what was looked at", () => {
  const said = (...does: ("read" | "search")[]): string => {
    const groups = new Groups(div());
    const one = row("x");
    for (const [index, kind] of does.entries()) {
      groups.place({ kind: "tool", id: `t${index}`, title: "", does: kind, status: index === 0 ? "failed" : "completed", group: "g", input: [], parts: [] }, one);
    }
    return one.closest(".group")?.querySelector(".group-head")?.textContent ?? "";
  };
  assert.equal(said("read", "read", "read", "search"), "Read 3 times, searched once · 1 failed");
  assert.equal(said("read", "search", "search"), "Read once, searched 2 times · 1 failed");
  assert.equal(said("search"), "Searched once · 1 failed");
});

test("a group does not close over the one who is in it", () => {
  const all = div();
  document.body.replaceChildren(all);
  const groups = new Groups(all);
  const rows = ["a", "b", "c"].map((name) => row(name));
  for (const [index, one] of rows.entries()) {
    groups.place({ kind: "tool", id: `t${index}`, title: "Reading", does: "read", status: "completed", group: "g", input: [], parts: [] }, one);
    rows[0]?.focus();
  }
  assert.equal(all.querySelector<HTMLElement>(".members")?.hidden, false);
});

test("a long row comes into view before one goes on", () => {
  const view = { top: 100, bottom: 500 };
  assert.equal(hasMore("ArrowDown", { top: 50, bottom: 700 }, view), true);
  assert.equal(hasMore("ArrowDown", { top: 50, bottom: 500 }, view), false);
  assert.equal(hasMore("ArrowUp", { top: 50, bottom: 500 }, view), true);
  assert.equal(hasMore("ArrowUp", { top: 100, bottom: 900 }, view), false);
});

test("keys and where they lead", () => {
  const from = (key: string, place: number) => placeAfter(key, place, 3);
  assert.deepEqual(["ArrowDown", "ArrowUp", "Home", "End", "x"].map((key) => from(key, 1)), [2, 0, 0, 2, undefined]);
  assert.deepEqual([from("ArrowUp", 0), from("ArrowDown", 2), from("End", 2)], [undefined, undefined, undefined]);
});
