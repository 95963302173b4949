/** The row of what a turn has changed. */

import type { ChangesItem } from "../messages";
import { post } from "./host";

export function changes({ id, text, note, files, buttons }: ChangesItem): HTMLElement[] {
  const summary = document.createElement("p");
  summary.className = "summary";
  summary.textContent = note === "" ? text : `${text} — ${note}`;
  const names = document.createElement("p");
  names.className = note === "" ? "files" : "files undone";
  for (const { path, name } of files) names.append(button(name, "plain", () => post({ type: "open", file: path, line: null })));
  const row = document.createElement("div");
  row.className = "buttons";
  for (const { act, text: label } of buttons) row.append(button(label, "secondary", () => post({ type: "changes", id, act })));
  return [summary, names, row];
}

function button(text: string, className: string, act: () => void): HTMLButtonElement {
  const made = document.createElement("button");
  made.type = "button";
  made.className = className;
  made.textContent = text;
  made.addEventListener("click", act);
  return made;
}
