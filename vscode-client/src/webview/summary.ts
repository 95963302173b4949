/** The row of a summary: how it goes, then the summary to unfold, and the way to what it replaced. */

import type { Item, SummaryItem } from "../messages";
import { button, element, icon } from "./elements";
import { post } from "./host";
import { render } from "./streamedMarkdown";
import { t } from "./translations";

const ICONS: Record<SummaryItem["state"], string> = { in_progress: "sync", completed: "fold", failed: "warning", cancelled: "circle-slash" };

export function showSummary(row: HTMLElement): (item: Item) => void {
  const line = element("p", "summary-line");
  const buttons = element("div", "buttons");
  const details = document.createElement("details");
  const head = element("summary", "");
  head.append(icon("chevron-right"), element("span", "", t("Summary")));
  const body = element("div", "summary-body");
  details.append(head, body);
  row.append(line, details, buttons);
  let shown: SummaryItem | undefined;
  details.addEventListener("toggle", () => {
    if (details.open && shown !== undefined && body.childElementCount === 0) body.append(render(shown.markdown), filesOf(shown));
  });
  return (item) => {
    if (item.kind !== "summary") return;
    const changed = shown?.state !== item.state;
    shown = item;
    line.replaceChildren(icon(ICONS[item.state]), element("span", "", item.text));
    details.hidden = item.markdown === "";
    if (!changed) return;
    buttons.replaceChildren();
    if (item.state === "in_progress") buttons.append(button(t("Stop"), "secondary", () => post({ type: "stop" })));
    if (item.state === "completed") buttons.append(button(t("Show what it replaced"), "secondary", () => post({ type: "replaced", compaction: item.compaction })));
  };
}

function filesOf({ files }: SummaryItem): HTMLElement {
  const list = element("ul", "files");
  for (const name of files) list.append(element("li", "", name));
  return list;
}
