/** The messages that wait, each with what can be done with it. */

import type { QueueAct, QueuedRow, State } from "../messages";
import { element, iconButton } from "./elements";
import { redraw, toInput } from "./focus";
import { find, post } from "./host";
import { t } from "./translations";

const list = find("#queue", HTMLElement);
let drawn = "";

export function showState({ queued }: State): void {
  const next = JSON.stringify(queued);
  if (next === drawn) return; // a button that has the focus keeps it
  drawn = next;
  const ordered = queued.filter(({ steers }) => !steers);
  list.hidden = queued.length === 0;
  redraw(list, () => list.replaceChildren(...queued.map((row) => rowOf(row, ordered))), toInput);
}

function rowOf(row: QueuedRow, ordered: QueuedRow[]): HTMLElement {
  const { id, text, steers } = row;
  const made = element("li", "");
  const words = element("span", "words", steers ? t("For this turn: {0}", text) : t("Waiting: {0}", text));
  words.title = text;
  made.append(words);
  if (id === "") return made;
  const place = ordered.indexOf(row);
  const button = (icon: string, name: string, act: QueueAct): HTMLElement => iconButton(icon, name, () => post({ type: "queue", id, act }));
  if (place > 0) made.append(button("arrow-up", t("Send earlier: {0}", text), "earlier"));
  if (place >= 0 && place < ordered.length - 1) made.append(button("arrow-down", t("Send later: {0}", text), "later"));
  made.append(button("edit", t("Edit: {0}", text), "edit"), button("close", t("Remove: {0}", text), "remove"));
  return made;
}
