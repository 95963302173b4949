/** The todo list, pinned above the input: folded to how far it is, with the task that is in progress. */

import type { State } from "../messages";
import { button, element, icon } from "./elements";
import { redraw, setHidden, toInput } from "./focus";
import { find, post } from "./host";
import { t } from "./translations";

type Phase = State["todo"][number];
type Task = Phase["tasks"][number];

const ICONS: Record<Task["status"], string> = { pending: "circle-large-outline", in_progress: "arrow-circle-right", completed: "pass", abandoned: "circle-slash" };
const STATUS: Record<Task["status"], string> = { pending: t("waiting"), in_progress: t("in progress"), completed: t("done"), abandoned: t("dropped") };

const box = find("#todo", HTMLElement);
const summary = element("summary", "");
const counts = element("span", "counts");
const current = element("span", "current");
const lists = element("div", "lists");
const edit = button(t("Edit the List"), "secondary", () => post({ type: "run", command: "north.editTodo" }));
let drawn = "";

summary.append(icon("chevron-right"), icon("checklist"), counts, current);
box.append(summary, lists, edit);

export function showState({ todo }: State): void {
  const next = JSON.stringify(todo);
  if (next === drawn) return; // what is folded, selected or focused stays so
  drawn = next;
  const tasks = todo.flatMap((phase) => phase.tasks);
  const closed = tasks.filter(isClosed).length;
  counts.textContent = t("Todo {0}/{1}", closed, tasks.length);
  current.textContent = tasks.find(({ status }) => status === "in_progress")?.content ?? "";
  redraw(lists, () => lists.replaceChildren(...todo.filter((phase) => phase.tasks.some(isShown)).flatMap(phaseOf)), toInput);
  setHidden(box, !tasks.some(isShown));
}

function isClosed({ status }: Task): boolean {
  return status === "completed" || status === "abandoned";
}

function isShown({ isHidden }: Task): boolean {
  return isHidden !== true;
}

function phaseOf({ name, tasks }: Phase): HTMLElement[] {
  const list = element("ul", "plan-list");
  list.setAttribute("aria-label", name);
  list.append(...tasks.filter(isShown).map(taskOf));
  return [element("p", "phase", `${name} · ${tasks.filter(isClosed).length}/${tasks.length}`), list];
}

function taskOf(task: Task): HTMLElement {
  const made = element("li", task.status);
  made.append(icon(ICONS[task.status] ?? "circle-large-outline"), element("span", "", task.content), element("span", "visually-hidden", ` (${STATUS[task.status] ?? task.status})`));
  return made;
}
