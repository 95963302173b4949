/** The keyboard's focus is not lost when what has it changes or goes away. */

import { find } from "./host";

/** Hides an element, or shows it. If it had the focus, that goes to the input. */
export function setHidden(element: HTMLElement, hidden: boolean): void {
  const had = hidden && element.contains(document.activeElement);
  element.hidden = hidden;
  if (had) toInput();
}

/** Draws what is in an element anew, for something else: the focus that it had goes there, or elsewhere. */
export function handOver(element: HTMLElement, draw: () => void, to: () => void): void {
  const had = element.contains(document.activeElement);
  draw();
  if (had) to();
}

/** Draws what is in an element anew. If something in it had the focus, what is called the same has it afterwards, or `otherwise`. */
export function redraw(element: HTMLElement, draw: () => void, otherwise: () => void): void {
  const { activeElement: before } = document;
  if (!(before instanceof HTMLElement) || before === element || !element.contains(before)) return draw();
  const name = labelOf(before);
  draw();
  if (element.contains(before) && before.closest("[hidden]") === null) return;
  const others = [...element.querySelectorAll<HTMLElement>("button, a, input, textarea, summary")];
  const same = others.find((one) => labelOf(one) === name && one.closest("[hidden]") === null);
  if (same === undefined) otherwise();
  else same.focus();
}

export function toInput(): void {
  find("#input", HTMLElement).focus();
}

function labelOf(element: Element): string {
  return element.getAttribute("aria-label") ?? element.textContent ?? "";
}
