import { at, said } from "./support/page";
import { press } from "./support/focus";

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Remembered } from "../src/webview/host";

class Observer {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
}
const kept: Remembered = { draft: "written before", sent: [{ id: "old", text: "sent before" }] };
const view = document.defaultView as Window & typeof globalThis;
Object.assign(globalThis, {
  window: view,
  Element: view.Element,
  HTMLTextAreaElement: view.HTMLTextAreaElement,
  HTMLButtonElement: view.HTMLButtonElement,
  IntersectionObserver: Observer,
  ResizeObserver: Observer,
  requestAnimationFrame: () => 0,
  acquireVsCodeApi: () => ({ postMessage: (message: (typeof said)[number]) => said.push(message), getState: () => kept, setState: (state: Remembered) => Object.assign(kept, state) }),
});
for (const [tag, id] of [
  ["main", "rows"], ["section", "waiting"], ["div", "entry"], ["ul", "offers"], ["ul", "chips"], ["textarea", "input"], ["p", "composer-note"],
  ["button", "attach"], ["button", "steer"], ["button", "send"],
] as const) {
  const made = document.createElement(tag);
  made.id = id;
  document.body.append(made);
}
const input = at("#input") as HTMLTextAreaElement;
input.setSelectionRange ??= () => undefined;
input.value = "typed while the script was loaded\n";

const composer = await import("../src/webview/composer");
const unsettled = () => (kept.sent ?? []).map(({ text }) => text);
const type = (text: string): void => {
  input.value = text;
  input.dispatchEvent(new view.Event("input"));
};

test("what was typed before the page listened stays, behind what was written before", () => {
  assert.equal(input.value, "written before\n\ntyped while the script was loaded\n");
  assert.equal(kept.draft, input.value);
});

test("a draft of another place takes the place of what was remembered here, and of nothing that was typed before the page listened", () => {
  const typed = "typed while the script was loaded\n";
  said.length = 0;
  composer.tellDraft();
  assert.deepEqual(said, [{ type: "draft", text: `written before\n\n${typed}` }]);
  composer.takeOver("written before"); // nothing has changed there
  assert.equal(input.value, `written before\n\n${typed}`);
  composer.takeOver(""); // it was sent there
  assert.equal(input.value, typed);
  composer.takeOver("");
  assert.equal(input.value, typed);
  composer.takeOver("abc");
  type(`abc\n\n${typed}and more`);
  composer.takeOver("abc");
  assert.equal(input.value, `abc\n\n${typed}and more`);
  composer.takeOver("abcd");
  assert.equal(input.value, `abcd\n\n${typed}and more`);
  assert.deepEqual(said.at(-1), { type: "draft", text: input.value });
  type("abcd");
  composer.takeOver("");
  assert.equal(input.value, "");
});

test("what is sent is remembered until the extension has seen to it", () => {
  type("one");
  at("#send").click();
  const sent = said.find((message) => message.type === "send");
  assert.equal(sent?.text, "one");
  assert.deepEqual([input.value, kept.draft, unsettled()], ["", "", ["sent before", "one"]]);
  composer.settled([sent?.id ?? ""]);
  assert.deepEqual(unsettled(), ["sent before"]);
});

test("what is written goes along to a page in another place of the window, and is not replaced by an older draft there", () => {
  type("changed");
  assert.deepEqual(said.at(-1), { type: "draft", text: "changed" });
  composer.takeOver("of the other place");
  assert.equal(input.value, "of the other place\n\nchanged");
});

test("what is written while an earlier message is shown can be gone back to, also in a page that is made anew", () => {
  kept.history = [];
  type("being written");
  composer.showHistory(["earlier"]);
  input.focus();
  Object.assign(input, { selectionStart: 0, selectionEnd: 0 });
  press("ArrowUp");
  assert.deepEqual([input.value, kept.history], ["one", ["earlier", "one", "being written"]]);
});

test("the extension is asked about what the page before had sent", () => {
  assert.deepEqual(composer.unsettled(), [{ id: "old", text: "sent before" }]);
});
