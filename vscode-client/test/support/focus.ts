/** The keyboard's focus, which the tests' page does not have by itself. Import it after `page`. */

const view = document.defaultView as Window & typeof globalThis;
let active: HTMLElement = document.body;

Object.defineProperty(document, "activeElement", { get: () => (active.isConnected ? active : document.body), configurable: true });
Object.assign(view.HTMLElement.prototype, {
  focus(this: HTMLElement) {
    const before = active;
    active = this;
    before.dispatchEvent(new view.Event("focusout", { bubbles: true }));
    this.dispatchEvent(new view.Event("focusin", { bubbles: true }));
  },
  scrollIntoView() {},
});

export function press(key: string, more: Partial<KeyboardEvent> = {}): boolean {
  const event = new view.Event("keydown", { bubbles: true, cancelable: true });
  Object.assign(event, { key, ...more });
  return active.dispatchEvent(event);
}

/** What Tab leads through, from the first to the last: those that nothing hides. */
export function stops(root: Element): HTMLElement[] {
  return [...root.querySelectorAll<HTMLElement>("button, a, input, textarea, summary, [tabindex]")].filter(
    (one) => one.getAttribute("tabindex") !== "-1" && one.closest("[hidden]") === null && (one.tagName !== "A" || one.hasAttribute("tabindex")),
  );
}
