import { at, said } from "./support/page";

import assert from "node:assert/strict";
import { test } from "node:test";

import type { State } from "../src/messages";

const view = document.defaultView as Window & typeof globalThis;
Object.assign(globalThis, { window: view, HTMLButtonElement: view.HTMLButtonElement, Element: view.Element });
for (const id of ["permitted", "stop", "usage", "mode", "model", "thought_level", "approvals"]) make("button", id);
for (const id of ["problem", "starting", "queue", "activity", "editing"]) make("section", id);
make("dl", "usage-rows");
make("section", "waiting").append(document.createElement("textarea"));

function make(tag: string, id: string): HTMLElement {
  const made = document.createElement(tag);
  made.id = id;
  document.body.append(made);
  return made;
}

const state: State = {
  problem: "", remedies: [], calm: false, pickers: [], usage: "", usageRows: [], busy: false, activity: "", waiting: 0, permittedSummary: "", queued: [], todo: [], work: { goal: null, workflow: null, decisions: [] }, editing: false,
  elsewhere: undefined, starting: undefined,
  welcome: { heading: "", words: "", examplesHeading: "", examples: [], setupHeading: "", setup: [], more: { command: "north.showLog", label: "" } },
};
const press = (key: string, target: Element = document.body): void => {
  const event = new view.Event("keydown", { bubbles: true });
  Object.assign(event, { key });
  target.dispatchEvent(event);
};

const { showState } = await import("../src/webview/footer");

test("a button says what is chosen, and asks for the list of what can be", () => {
  showState({ ...state, pickers: [{ id: "mode", label: "Agent", title: "What North may do" }] });
  assert.equal(at("#mode").textContent, "Agent");
  assert.equal(at("#mode").title, "What North may do: Agent");
  assert.equal(at("#model").hidden, true);
  at("#mode").dispatchEvent(new view.Event("click"));
  assert.deepEqual(said.pop(), { type: "pick", picker: "mode" });
});

test("of a long name, what is left out stands before its end", () => {
  showState({ ...state, pickers: [{ id: "model", label: "Claude Sonnet 4.5 (Bedrock)", title: "Model" }] });
  assert.deepEqual([...at("#model").querySelectorAll(".begin, .end")].map((part) => part.textContent), ["Claude Sonnet 4.5 (", "Bedrock)"]);
  showState({ ...state, pickers: [{ id: "model", label: "Claude Sonnet 4", title: "Model" }] });
  assert.equal(at("#model .begin").textContent, "Claude Sonnet 4");
});

test("that North starts is said until it has, with what can be done when it takes long", () => {
  showState({ ...state, starting: { text: "North is starting…", remedies: [] } });
  assert.deepEqual([at("#starting").hidden, at("#starting .words").textContent], [false, "North is starting…"]);
  showState({ ...state, starting: { text: "Still starting", remedies: [{ command: "north.showLog", label: "Show log" }] } });
  at("#starting button").dispatchEvent(new view.Event("click"));
  assert.deepEqual(said.pop(), { type: "run", command: "north.showLog" });
  showState(state);
  assert.equal(at("#starting").hidden, true);
});

test("what is allowed without asking takes the place of what is asked", () => {
  const pickers: State["pickers"] = [{ id: "approvals", label: "Asks first", title: "" }];
  showState({ ...state, pickers });
  assert.deepEqual([at("#approvals").hidden, at("#permitted").hidden], [false, true]);
  assert.equal(at("#approvals").textContent, "Asks first", "for those who hear the page");
  showState({ ...state, pickers, permittedSummary: "all commands without asking" });
  assert.deepEqual([at("#approvals").hidden, at("#permitted").hidden], [true, false]);
});

test("what was used unfolds, and Escape folds it before it stops anything", () => {
  showState({ ...state, busy: true, usage: "1 %", usageRows: [["Input", "12"]] });
  at("#usage").dispatchEvent(new view.Event("click"));
  assert.equal(at("#usage-rows").hidden, false);
  assert.equal(at("#usage-rows").textContent, "Input12");
  said.length = 0;
  press("Escape");
  assert.equal(at("#usage-rows").hidden, true);
  assert.deepEqual(said, []);
  press("Escape");
  assert.deepEqual(said, [{ type: "stop" }]);
});

test("Escape stops nothing while nothing runs, nor from the words of a question", () => {
  said.length = 0;
  showState(state);
  press("Escape");
  showState({ ...state, busy: true });
  press("Escape", at("#waiting textarea"));
  assert.deepEqual(said, []);
});

test("a problem is said when it comes, not each time that something else changes", () => {
  const problem = { ...state, problem: "No server", remedies: [{ command: "north.showLog" as const, label: "Show Log" }] };
  showState(problem);
  const [words] = at("#problem").children;
  showState({ ...problem, busy: true });
  assert.equal(at("#problem").firstElementChild, words);
  showState(state);
  assert.equal(at("#problem").hidden, true);
});

test("what stands below the input says what it is about", () => {
  showState({ ...state, pickers: [{ id: "model", label: "Offline", title: "Model" }], usage: "1 %" });
  assert.equal(at("#model").getAttribute("aria-label"), "Model: Offline");
  assert.equal(at("#usage").getAttribute("aria-label"), "Context and cost: 1 %");
});

test("the extension knows whether the keyboard is at the page", () => {
  for (const type of ["focus", "blur"]) view.dispatchEvent(new view.Event(type));
  assert.deepEqual(said.slice(-2), [{ type: "focused" }, { type: "blurred" }]);
});

test("that an earlier message is being edited is said, and can be given up", () => {
  showState(state);
  assert.equal(at("#editing").hidden, true);
  showState({ ...state, editing: true });
  assert.equal(at("#editing").hidden, false);
  at("#editing button").dispatchEvent(new view.Event("click"));
  assert.deepEqual(said.pop(), { type: "stopEditing" });
});

test("that North works is said once, however often the page hears of other things", () => {
  showState({ ...state, busy: true, activity: "working" });
  const words = at("#activity").firstChild;
  showState({ ...state, busy: true, activity: "working", usage: "1 %" });
  assert.equal(at("#activity").textContent, "working");
  assert.equal(at("#activity").firstChild, words);
});
