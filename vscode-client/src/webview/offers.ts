/** The list of what the input offers: the cursor stays in the input, which says what is chosen. */

import type { Offer } from "./completion";
import { find } from "./host";
import { element, icon } from "./elements";

const list = find("#offers", HTMLElement);
const ICONS = { command: "terminal", value: "symbol-value", source: "mention", file: "file", folder: "folder", name: "bookmark", symbol: "symbol-misc" };

export function showOffers(input: HTMLElement, offers: readonly Offer[], active: number, choose: (index: number) => void): void {
  list.replaceChildren(...offers.map((offer, index) => option(offer, index, index === active, choose)));
  list.hidden = false;
  input.setAttribute("aria-expanded", "true");
  if (active < 0) input.removeAttribute("aria-activedescendant");
  else input.setAttribute("aria-activedescendant", idOf(active));
  list.children[active]?.scrollIntoView({ block: "nearest" });
}

export function hideOffers(input: HTMLElement): void {
  if (list.hidden) return;
  list.hidden = true;
  list.replaceChildren();
  input.setAttribute("aria-expanded", "false");
  input.removeAttribute("aria-activedescendant");
}

function option(offer: Offer, index: number, isActive: boolean, choose: (index: number) => void): HTMLElement {
  const made = element("li", isActive ? "offer active" : "offer");
  made.id = idOf(index);
  made.setAttribute("role", "option");
  made.setAttribute("aria-selected", String(isActive));
  const sign = offer.kind === "command" ? "/" : offer.kind === "source" ? "@" : "";
  const name = sign + (sign === "" && offer.kind !== "symbol" && offer.kind !== "value" && offer.kind !== "name" ? nameOf(offer.name) : offer.name);
  made.append(icon(ICONS[offer.kind]), element("span", "name", name), element("span", "detail", offer.detail));
  made.title = `${sign}${offer.name} ${offer.detail}`;
  // Before the input loses the focus to it.
  made.addEventListener("mousedown", (event) => {
    event.preventDefault();
    choose(index);
  });
  return made;
}

function idOf(index: number): string {
  return `offer-${index}`;
}

/** The last part of a path; a folder keeps its mark. */
function nameOf(path: string): string {
  return path.slice(path.replace(/\/$/, "").lastIndexOf("/") + 1);
}
