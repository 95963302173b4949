import { div } from "./support/page";
import "./support/focus";

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Option, Question } from "../src/messages";
import { type Actions, card } from "../src/webview/rows";

const decided: unknown[][] = [];
const actions = { decide: (...parts: unknown[]) => decided.push(parts.slice(1)) } as unknown as Actions;
Object.assign(globalThis, { ResizeObserver: class { observe() {} disconnect() {} } });

const option = (id: string, name: string, more: Partial<Option> = {}): Option => ({ id, name, rejects: false, lasts: false, ...more });
const OPTIONS = [option("run", "Run"), option("terminal", "Run in the terminal"), option("always", "Always run this command", { lasts: true }), option("deny", "Deny", { rejects: true })];

function shown(command: string | null = "rm -r out"): HTMLElement {
  const question: Question = { kind: "command", id: "question:1", title: "Run", heading: "North asks to run this command", markdown: "```sh\nrm -r out\n```\n\nIn /repo.", options: OPTIONS, hasDiff: false, ...(command === null ? {} : { command }) };
  const page = div();
  document.body.append(page);
  page.append(card(question, actions));
  return page;
}

const named = (page: HTMLElement, name: string): HTMLButtonElement => {
  const found = [...page.querySelectorAll("button")].find((one) => one.textContent === name);
  assert.ok(found, name);
  return found;
};
const click = (page: HTMLElement, name: string): void => void named(page, name).dispatchEvent(new (document.defaultView as Window & typeof globalThis).Event("click"));
const text = (page: HTMLElement): HTMLTextAreaElement | null => page.querySelector("textarea");

test("a command runs as it was asked about, unless it was changed", () => {
  const page = shown();
  click(page, "Run");
  assert.deepEqual(decided.pop(), ["run", "", undefined]);
  click(page, "Edit…");
  assert.equal(text(page)?.value, "rm -r out");
  assert.equal(document.activeElement, text(page));
  assert.equal(page.querySelector<HTMLElement>(".code")?.hidden, true);
  click(page, "Run");
  assert.deepEqual(decided.pop(), ["run", "", undefined]); // nothing is changed yet
  (text(page) as HTMLTextAreaElement).value = "ls out";
  click(page, "Run in the terminal");
  assert.deepEqual(decided.pop(), ["terminal", "", "ls out"]);
  click(page, "Deny");
  assert.deepEqual(decided.pop(), ["deny", ""]);
});

test("what allows it once stands out, and nothing else does", () => {
  const page = shown();
  const main = [...page.querySelectorAll("button")].filter((one) => one.className === "");
  assert.deepEqual(main.map((one) => one.textContent), ["Run"]);
});

test("what lasts is about the command that was asked about: it is not offered for another", () => {
  const page = shown();
  const lasting = named(page, "Always run this command…").parentElement;
  click(page, "Edit…");
  assert.equal(lasting?.hidden, true);
  (text(page) as HTMLTextAreaElement).value = "ls out";
  click(page, "Do Not Edit");
  assert.equal(lasting?.hidden, false);
  assert.equal(text(page), null);
  assert.equal(page.querySelector<HTMLElement>(".code")?.hidden, false);
  click(page, "Run");
  assert.deepEqual(decided.pop(), ["run", "", undefined]); // what was typed is gone
});

test("a command that was emptied does not run, nor does the one that was asked about", () => {
  const page = shown();
  for (const one of page.querySelectorAll("button")) one.disabled = false; // all of it has been in view
  const disabled = (): string[] => [...page.querySelectorAll("button")].filter((one) => one.disabled).map((one) => one.textContent ?? "");
  const type = (command: string): void => {
    const input = text(page) as HTMLTextAreaElement;
    input.value = command;
    input.dispatchEvent(new (document.defaultView as Window & typeof globalThis).Event("input"));
  };
  click(page, "Edit…");
  assert.deepEqual(disabled(), []);
  type(" \n");
  assert.deepEqual(disabled(), ["Run", "Run in the terminal", "Always run this command…"]);
  click(page, "Run");
  assert.deepEqual(decided, []);
  click(page, "Deny");
  assert.deepEqual(decided.pop(), ["deny", ""]);
  type("ls out");
  assert.deepEqual(disabled(), []);
  type("");
  click(page, "Do Not Edit");
  assert.deepEqual(disabled(), []);
  click(page, "Run");
  assert.deepEqual(decided.pop(), ["run", "", undefined]);
});

test("a command cannot be changed before all of it has been in view", () => {
  assert.equal(named(shown(), "Edit…").disabled, true);
});

test("only a command whose characters can all be seen can be changed", () => {
  const page = shown(null);
  assert.equal([...page.querySelectorAll("button")].some((one) => one.textContent === "Edit…"), false);
});
