/** The row of what a turn has changed. */

import type { ChangesItem } from "../messages";
import { button, element, icon } from "./elements";
import { post } from "./host";

export function showChanges(row: HTMLElement, { id, text, note, files, buttons }: ChangesItem): void {
  const summary = element("p", "summary");
  summary.append(icon("diff-multiple"), element("span", "", note === "" ? text : `${text} — ${note}`));
  const names = element("p", note === "" ? "files" : "files undone");
  for (const { path, name } of files) names.append(button(name, "plain", () => post({ type: "open", file: path, line: null })));
  const acts = element("div", "buttons");
  for (const { act, text: label } of buttons) acts.append(button(label, "secondary", () => post({ type: "changes", id, act })));
  row.replaceChildren(summary, names, acts);
}
