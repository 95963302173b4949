/** What holds now: problems, what waits to be sent, what is chosen and used, and the way to stop. */

import type { PickerButton, State } from "../messages";
import { button, element, icon, screenReaderText, setText } from "./elements";
import { redraw, setHidden, toInput } from "./focus";
import { find, post } from "./host";
import { WORDS } from "./texts";
import { t } from "./translations";

const permitted = find("#permitted", HTMLButtonElement);
const problem = find("#problem", HTMLElement);
const starting = find("#starting", HTMLElement);
const activity = find("#activity", HTMLElement);
const editing = find("#editing", HTMLElement);
const stop = find("#stop", HTMLButtonElement);
const usage = find("#usage", HTMLButtonElement);
const usageRows = find("#usage-rows", HTMLElement);
const pickers = (["mode", "model", "thought_level", "approvals"] as const).map((id) => ({ id, button: find(`#${id}`, HTMLButtonElement) }));
let busy = false;
let drawnProblem = "";
let drawnStarting = "";

export function showState(state: State): void {
  showProblem(state);
  showStarting(state);
  setHidden(editing, !state.editing);
  setHidden(permitted, state.permittedSummary === "");
  setText(permitted, state.permittedSummary);
  setText(activity, state.activity);
  busy = state.busy;
  setHidden(stop, !busy);
  for (const { id, button } of pickers) {
    // What is allowed says more than what is asked.
    const shown = id === "approvals" && state.permittedSummary !== "" ? undefined : state.pickers.find((one) => one.id === id);
    showPicker(button, shown, id === "approvals" ? "shield" : undefined);
  }
  showUsage(state);
}

/** Only what has changed: an alert is said each time that it is drawn. */
function showProblem(state: State): void {
  const next = JSON.stringify([state.problem, state.remedies, state.calm]);
  if (next === drawnProblem) return;
  drawnProblem = next;
  redraw(problem, () => problem.replaceChildren(element("span", "", state.problem), ...problemButtons(state)), toInput);
  setHidden(problem, state.problem === "");
  problem.classList.toggle("calm", state.calm);
}

/** The page says that North starts before any script runs; its words change when it takes long. */
function showStarting({ starting: now }: State): void {
  const next = JSON.stringify(now ?? null);
  if (next === drawnStarting) return;
  drawnStarting = next;
  const mark = icon("loading");
  mark.classList.add("codicon-modifier-spin");
  const ways = (now?.remedies ?? []).map(({ command, label }) => button(label, "secondary", () => post({ type: "run", command })));
  const buttons = element("div", "buttons");
  buttons.append(...ways);
  redraw(starting, () => starting.replaceChildren(mark, element("span", "words", now?.text ?? ""), buttons), toInput);
  setHidden(starting, now === undefined);
}

function showPicker(button: HTMLButtonElement, picker: PickerButton | undefined, iconName?: string): void {
  setHidden(button, picker === undefined);
  if (picker === undefined) return;
  if (iconName === undefined) button.replaceChildren(...halves(picker.label), icon("chevron-down"));
  else button.replaceChildren(icon(iconName), screenReaderText(picker.label));
  button.title = `${picker.title}: ${picker.label}`;
  button.setAttribute("aria-label", button.title);
}

/** The end of a name tells it from others as well as its beginning: what does not fit is left out before it. */
const END = 8;

function halves(label: string): HTMLElement[] {
  const letters = [...label];
  if (letters.length <= 2 * END) return [element("span", "begin", label)];
  return [element("span", "begin", letters.slice(0, -END).join("")), element("span", "end", letters.slice(-END).join(""))];
}

function showUsage({ usage: text, usageRows: rows }: State): void {
  setHidden(usage, text === "");
  // Where there is too little room, the cost is left out.
  const [full = "", ...cost] = text.split(" · ");
  usage.replaceChildren(element("span", "", full), ...cost.map((part) => element("span", "", ` · ${part}`)));
  usage.setAttribute("aria-label", t("Context and cost: {0}", text));
  usage.title = rows.map((row) => row.join(": ")).join("\n");
  usageRows.replaceChildren(...rows.flatMap(([name, value]) => [element("dt", "", name), element("dd", "", value)]));
  if (rows.length === 0) unfold(false);
}

function unfold(open: boolean): void {
  usageRows.hidden = !open;
  usage.setAttribute("aria-expanded", String(open));
}

/** The first one of a problem that only waits for the user is what is to be done. */
function problemButtons({ remedies, calm }: State): HTMLElement[] {
  return remedies.map(({ command, label }, index) => button(label, calm && index === 0 ? "" : "secondary", () => post({ type: "run", command })));
}

editing.append(element("span", "", WORDS.editing), button(WORDS.stopEditing, "secondary", () => post({ type: "stopEditing" })));
stop.addEventListener("click", () => post({ type: "stop" }));
permitted.addEventListener("click", () => post({ type: "run", command: "north.showPermissions" }));
usage.addEventListener("click", () => unfold(usageRows.hidden !== false));
for (const { id, button } of pickers) button.addEventListener("click", () => post({ type: "pick", picker: id }));
// Escape stops the turn, unless it closes something first: whatever did so has prevented the default.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented || event.isComposing) return;
  if (!usageRows.hidden) unfold(false);
  else if (busy && !(event.target instanceof Element && event.target.closest("#waiting") !== null)) post({ type: "stop" });
});
window.addEventListener("focus", () => post({ type: "focused" }));
window.addEventListener("blur", () => post({ type: "blurred" }));
