/** The page of a part that is pinned above the input: import it before the module that fills it. */

import "./page";

export const view = document.defaultView as Window & typeof globalThis;
Object.assign(globalThis, { window: view, HTMLButtonElement: view.HTMLButtonElement, HTMLElement: view.HTMLElement, Element: view.Element });

/** Put the pinned part, which has an id of its own, and the input into the page. */
export function pin(id: string): void {
  for (const [tag, name] of [["details", id], ["textarea", "input"]] as const) {
    const made = document.createElement(tag);
    made.id = name;
    document.body.append(made);
  }
}
