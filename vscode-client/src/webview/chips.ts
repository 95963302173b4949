/** What goes with the next message: a chip for each, and what the editor shows as some that can be had. */

import type { Chip, ChipKind, ComposerState } from "../messages";
import { TEXTS } from "./composerTexts";
import { find, post } from "./host";
import { button, element, icon } from "./elements";

const list = find("#chips", HTMLElement);
/** Of pictures that were pasted or dropped while this page was there. */
const thumbnails = new Map<string, HTMLCanvasElement>();

const ICONS: Record<ChipKind, string> = {
  selection: "list-selection",
  file: "file",
  folder: "folder",
  problems: "warning",
  terminal: "terminal",
  diff: "git-compare",
  picture: "file-media",
  text: "note",
};

export function keepThumbnail(id: string, thumbnail: HTMLCanvasElement): void {
  thumbnails.set(id, thumbnail);
}

/** `leave` is called when the chip that had the keyboard's focus is gone. */
export function showChips({ chips, suggested }: ComposerState, leave: () => void): void {
  const focused = list.contains(document.activeElement) ? [...list.querySelectorAll("button")].findIndex((one) => one === document.activeElement) : -1;
  list.replaceChildren(...suggested.map(offered), ...chips.map(attached));
  list.hidden = list.childElementCount === 0;
  const known = new Set(chips.map(({ id }) => id));
  // One that is on its way to the extension is not there yet.
  if (chips.length === 0 || thumbnails.size > 20) for (const id of thumbnails.keys()) if (!known.has(id)) thumbnails.delete(id);
  if (focused < 0) return;
  const buttons = list.querySelectorAll("button");
  const next = buttons[Math.min(focused, buttons.length - 1)];
  if (next === undefined) leave();
  else next.focus();
}

function attached({ id, kind, label, title }: Chip): HTMLElement {
  const made = element("li", `chip ${kind}`);
  made.title = title;
  const remove = chipButton(TEXTS.remove(label), () => post({ type: "detach", id }), icon("close"));
  made.append(thumbnails.get(id) ?? icon(ICONS[kind]), element("span", "label", label), remove);
  return made;
}

function offered({ id, kind, label, title }: ComposerState["suggested"][number]): HTMLElement {
  const made = element("li", "chip suggested");
  const content = [icon("add"), icon(ICONS[kind]), element("span", "label", label)];
  const add = chipButton(TEXTS.attach(label), () => post({ type: "attachSource", source: id }), ...content);
  add.title = id === "selection" ? TEXTS.selected(title) : TEXTS.suggested(title);
  made.append(add);
  return made;
}

function chipButton(label: string, act: () => void, ...content: Node[]): HTMLButtonElement {
  const made = button("", "plain", act);
  made.setAttribute("aria-label", label);
  made.append(...content);
  return made;
}
