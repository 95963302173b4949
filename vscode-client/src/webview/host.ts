/** The page's side of VS Code: messages to the extension, what is remembered while the page is away, and its elements. */

import type { FormValues } from "../forms";
import type { FromPage, Sent } from "../messages";

/** Kept by VS Code when the page is thrown away. Each part of the page has its own keys. */
export interface Remembered {
  draft?: string;
  /** What was sent, until the extension has seen to it: the window may end before. */
  sent?: Sent[];
  /** Which one the page shows: a tab is found again by it. */
  conversation?: string;
  /** What was sent before. */
  history?: string[];
  /** What is filled in of the form that waits. */
  form?: { question: string; values: FormValues };
  /** The conversation's first row in view, if it is not the end that is looked at. */
  place?: { id: string; offset: number } | undefined;
}

declare function acquireVsCodeApi(): {
  postMessage(message: FromPage): void;
  getState(): Remembered | undefined;
  setState(state: Remembered): void;
};

const vscode = acquireVsCodeApi();

export const post = (message: FromPage): void => vscode.postMessage(message);

export function remembered(): Remembered {
  return vscode.getState() ?? {};
}

export function remember(changed: Remembered): void {
  vscode.setState({ ...remembered(), ...changed });
}

export function find<E extends HTMLElement>(selector: string, kind: new () => E): E {
  const found = document.querySelector(selector);
  if (!(found instanceof kind)) throw new Error(`no ${selector}`);
  return found;
}
