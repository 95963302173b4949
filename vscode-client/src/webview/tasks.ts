/** The tasks of a call: what each agent does, and its conversation at a click. */

import type { TaskItem } from "../messages";
import { element, icon, iconButton, screenReaderText } from "./elements";
import type { Actions } from "./rows";
import { t } from "./translations";

const ICONS = { pending: "circle-large-outline", in_progress: "loading codicon-modifier-spin", completed: "check", failed: "error" };

export function taskList(rows: readonly TaskItem[], actions: Actions): HTMLElement {
  const list = element("ul", "tasks");
  list.append(...rows.map((row) => line(row, actions)));
  return list;
}

function line(row: TaskItem, actions: Actions): HTMLElement {
  const made = element("li", "task");
  const mark = icon(ICONS[row.status]);
  mark.classList.add("mark", row.status);
  made.append(mark, element("span", "agent", row.agent), screenReaderText(`: ${row.state}`), element("span", "doing", row.doing));
  made.append(element("span", "hint", [row.status === "completed" || row.status === "in_progress" ? "" : row.state, row.tokens].filter((part) => part !== "").join(" · ")));
  made.append(iconButton("comment-discussion", t("Open the conversation of {0}", row.agent), () => actions.onTask(row.id, "open")));
  if (row.status === "in_progress" || row.status === "pending") {
    made.append(iconButton("debug-stop", t("Cancel the task of {0}", row.agent), () => actions.onTask(row.id, "cancel")));
  }
  return made;
}
