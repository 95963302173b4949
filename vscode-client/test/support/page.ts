/** A page for what draws, and what it says to the extension. Import it first. */

import assert from "node:assert/strict";

import { parseHTML } from "linkedom";

import type { FromPage } from "../../src/messages";

const window = parseHTML("<!DOCTYPE html><html><body><p id=announce></p></body></html>");
export const said: FromPage[] = [];

Object.assign(globalThis, {
  document: window.document,
  HTMLElement: window.HTMLElement,
  HTMLOListElement: window.HTMLOListElement ?? class {},
  Text: window.Text,
  acquireVsCodeApi: () => ({ postMessage: (message: FromPage) => said.push(message), getState: () => undefined, setState: () => {} }),
});

export function div(): HTMLElement {
  return document.createElement("div");
}

export function at(selector: string): HTMLElement {
  const found = document.querySelector<HTMLElement>(selector);
  assert.ok(found, selector);
  return found;
}
