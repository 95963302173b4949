/** What holds now: problems, what waits to be sent, mode, permissions, usage, and the way to stop. */

import type { State } from "../messages";
import { element } from "./elements";
import { find, post } from "./host";

const unasked = find("#unasked", HTMLButtonElement);
const problem = find("#problem", HTMLElement);
const queue = find("#queue", HTMLElement);
const mode = find("#mode", HTMLButtonElement);
const activity = find("#activity", HTMLElement);
const stop = find("#stop", HTMLButtonElement);

export function showState(state: State): void {
  problem.hidden = state.problem === "";
  problem.replaceChildren(element("span", "", state.problem), ...problemButtons());
  queue.hidden = state.queued.length === 0;
  queue.replaceChildren(...state.queued.map((text) => element("li", "", `Waiting: ${text}`)));
  mode.textContent = state.mode;
  unasked.hidden = state.unasked === "";
  unasked.textContent = state.unasked;
  const doing = state.waiting > 0 ? "waits for you" : state.busy ? "working" : "";
  activity.textContent = [doing, state.usage].filter((part) => part !== "").join(" · ");
  stop.hidden = !state.busy;
}

function problemButtons(): HTMLElement[] {
  const commands = [
    ["Open setting", "north.openSetting"],
    ["Show log", "north.showLog"],
    ["Try again", "north.restartServer"],
  ] as const;
  return commands.map(([text, command]) => {
    const made = element("button", "secondary", text);
    made.addEventListener("click", () => post({ type: "run", command }));
    return made;
  });
}

stop.addEventListener("click", () => post({ type: "stop" }));
unasked.addEventListener("click", () => post({ type: "run", command: "north.showPermissions" }));
mode.addEventListener("click", () => post({ type: "run", command: "north.switchMode" }));
