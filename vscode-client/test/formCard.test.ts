import { div } from "./support/page";

import assert from "node:assert/strict";
import { test } from "node:test";

import { type FormValues, fieldsOf } from "../src/forms";
import type { Question } from "../src/messages";
import { formCard } from "../src/webview/form";
import type { Actions } from "../src/webview/rows";

Object.assign(globalThis, { HTMLInputElement: (document.defaultView as Window & typeof globalThis).HTMLInputElement, ResizeObserver: class { observe() {} disconnect() {} } });

const answers: FormValues[] = [];
const decided: string[] = [];
const actions = { fill: (_id: string, values: FormValues) => answers.push(values), decide: (_id: string, option: string) => decided.push(option) } as unknown as Actions;
const options = [{ id: "answer", name: "Answer", rejects: false, lasts: false }, { id: "decline", name: "Close", rejects: true, lasts: false }];

function shown(properties: object, required: string[] = [], heading = "North asks: Two things."): HTMLElement {
  const question: Question = { kind: "choice", id: `question:${Math.random()}`, title: "", heading, markdown: "", options, hasDiff: false, fields: fieldsOf({ properties, required }) ?? [] };
  const page = div();
  page.append(formCard(question, actions));
  for (const one of page.querySelectorAll("button")) one.disabled = false; // all of it has been in view
  return page;
}

const input = (page: HTMLElement, label: string): HTMLInputElement => {
  const found = [...page.querySelectorAll("label")].find((one) => one.textContent === label);
  assert.ok(found, label);
  const inside = found.querySelector("input");
  return inside ?? (page.querySelector(`[id="${found.getAttribute("for")}"]`) as HTMLInputElement);
};
const click = (page: HTMLElement, name: string): void => {
  const found = [...page.querySelectorAll("button")].find((one) => one.textContent === name);
  found?.dispatchEvent(new (document.defaultView as Window & typeof globalThis).Event("click"));
};
const CHOICE = { type: "string", title: "Which size?", oneOf: [{ const: "s", title: "Small" }, { const: "l", title: "Large" }] };

test("what is chosen, ticked and typed is answered, with what was recommended before", () => {
  const many = { type: "array", title: "Which parts?", items: { anyOf: [{ const: "a", title: "First" }, { const: "b", title: "Second" }] } };
  const page = shown({ size: { ...CHOICE, default: "l" }, many, own: { type: "string", title: "Other" }, count: { type: "integer", title: "How many?" } });
  input(page, "Second").checked = true;
  input(page, "Other").value = "my own";
  input(page, "How many?").value = "3";
  click(page, "Answer");
  assert.deepEqual(answers.pop(), { size: "l", many: ["b"], own: "my own", count: 3 });
});

test("what is missing or wrong is named, and nothing is answered", () => {
  const page = shown({ size: CHOICE, count: { type: "integer", title: "How many?" } }, ["size"]);
  const problem = (): string => page.querySelector(".problem:not([hidden])")?.textContent ?? "";
  assert.equal(problem(), "");
  click(page, "Answer");
  assert.equal(problem(), "Which size?: this must be filled in.");
  input(page, "Small").checked = true;
  input(page, "How many?").value = "many";
  click(page, "Answer");
  assert.equal(problem(), "How many?: this must be a number.");
  assert.deepEqual(answers, []);
  input(page, "How many?").value = "";
  click(page, "Answer");
  assert.equal(problem(), "");
  assert.deepEqual(answers.pop(), { size: "s" });
});

test("closing it answers nothing", () => {
  const page = shown({ size: CHOICE });
  click(page, "Close");
  assert.deepEqual(decided.splice(0), ["decline"]);
  assert.deepEqual(answers, []);
});

test("a form of one question does not say it twice", () => {
  const page = shown({ size: CHOICE, own: { type: "string", title: "Other" } }, [], "North asks: Which size?");
  const hidden = [...page.querySelectorAll(".visually-hidden")].map((one) => one.textContent);
  assert.deepEqual(hidden, ["Which size?"]);
});

test("Enter answers once all of it has been in view, and nothing before: neither what was typed nor what was there", () => {
  const page = shown({ size: CHOICE, own: { type: "string", title: "Other", default: "as it was" } });
  const accept = page.querySelector<HTMLButtonElement>(".buttons button");
  assert.ok(accept);
  accept.disabled = true;
  const enter = (at: HTMLElement): void => {
    const event = new (document.defaultView as Window & typeof globalThis).Event("keydown", { bubbles: true, cancelable: true });
    at.dispatchEvent(Object.assign(event, { key: "Enter" }));
  };
  enter(input(page, "Small"));
  enter(input(page, "Other"));
  input(page, "Other").value = "my own";
  enter(input(page, "Other"));
  assert.deepEqual(answers, []);
  accept.disabled = false;
  enter(input(page, "Other"));
  assert.deepEqual(answers.pop(), { own: "my own" });
  input(page, "Other").value = "";
  input(page, "Small").checked = true;
  enter(input(page, "Small"));
  assert.deepEqual(answers.pop(), { size: "s" });
});
