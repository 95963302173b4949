/** What holds now: problems, what waits to be sent, mode, permissions, usage, and the way to stop. */

import type { Remedy, State } from "../messages";
import { find, post } from "./host";
import { element } from "./rows";

const unasked = find("#unasked", HTMLButtonElement);
const problem = find("#problem", HTMLElement);
const queue = find("#queue", HTMLElement);
const mode = find("#mode", HTMLButtonElement);
const activity = find("#activity", HTMLElement);
const stop = find("#stop", HTMLButtonElement);

export function showState(state: State): void {
  problem.hidden = state.problem === "";
  problem.replaceChildren(element("span", "", state.problem), ...problemButtons(state.remedies));
  problem.classList.toggle("calm", state.calm);
  queue.hidden = state.queued.length === 0;
  queue.replaceChildren(...state.queued.map((text) => element("li", "", `Waiting: ${text}`)));
  mode.textContent = state.mode;
  unasked.hidden = state.unasked === "";
  unasked.textContent = state.unasked;
  const doing = state.waiting > 0 ? "waits for you" : state.busy ? "working" : "";
  activity.textContent = [doing, state.usage].filter((part) => part !== "").join(" · ");
  stop.hidden = !state.busy;
}

function problemButtons(remedies: Remedy[]): HTMLElement[] {
  return remedies.map(({ command, label }) => {
    const made = element("button", "secondary", label);
    made.addEventListener("click", () => post({ type: "run", command }));
    return made;
  });
}

stop.addEventListener("click", () => post({ type: "stop" }));
unasked.addEventListener("click", () => post({ type: "run", command: "north.showPermissions" }));
mode.addEventListener("click", () => post({ type: "run", command: "north.switchMode" }));
