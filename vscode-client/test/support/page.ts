/** A page for what draws, and what it says to the extension. Import it first. */

import { parseHTML } from "linkedom";

import type { FromPage } from "../../src/messages";

const window = parseHTML("<!DOCTYPE html><html><body></body></html>");
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
