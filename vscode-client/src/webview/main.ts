/** The chat's page: draws what the extension sends, and sends what the user does. */

import type { FromPage, Item, State, ToPage } from "../messages";
import { type Actions, card, element, row } from "./rows";

declare function acquireVsCodeApi(): {
  postMessage(message: FromPage): void;
  getState(): { draft?: string } | undefined;
  setState(state: { draft: string }): void;
};

const vscode = acquireVsCodeApi();
const post = (message: FromPage) => vscode.postMessage(message);

function find<E extends HTMLElement>(selector: string, kind: new () => E): E {
  const found = document.querySelector(selector);
  if (!(found instanceof kind)) throw new Error(`no ${selector}`);
  return found;
}

const rows = find("#rows", HTMLElement);
const input = find("#input", HTMLTextAreaElement);
const waiting = find("#waiting", HTMLElement);
const unasked = find("#unasked", HTMLButtonElement);
const problem = find("#problem", HTMLElement);
const queue = find("#queue", HTMLElement);
const attachment = find("#attachment", HTMLElement);
const attachmentName = find("#attachment span", HTMLElement);
const mode = find("#mode", HTMLButtonElement);
const activity = find("#activity", HTMLElement);
const stop = find("#stop", HTMLButtonElement);
const steer = find("#steer", HTMLButtonElement);

const actions: Actions = {
  open: (file, line) => post({ type: "open", file, line }),
  decide: (id, option, comment) => post({ type: "decide", id, option, comment }),
  review: (id) => post({ type: "review", id }),
  retry: (now) => post({ type: "retry", now }),
};

const items = new Map<string, Item>();
const elements = new Map<string, HTMLElement>();
/** Rows to draw at the next frame: streamed text comes in faster than it has to be drawn. */
const stale = new Set<string>();

function drawLater(id: string): void {
  if (stale.size === 0) requestAnimationFrame(draw);
  stale.add(id);
}

function draw(): void {
  const atEnd = rows.scrollHeight - rows.scrollTop - rows.clientHeight < 40;
  for (const id of stale) {
    const item = items.get(id);
    if (item === undefined) continue;
    const made = row(item, actions);
    const old = elements.get(id);
    if (old === undefined) rows.append(made);
    else old.replaceWith(made);
    elements.set(id, made);
  }
  stale.clear();
  pin();
  if (atEnd) rows.scrollTop = rows.scrollHeight;
}

/** The question that has waited longest stands above the input, whole, wherever the conversation is scrolled to. */
function pin(): void {
  const open = [...items.values()].filter((item) => "options" in item && item.decision === undefined);
  const [first] = open;
  waiting.hidden = first === undefined;
  if (first === undefined || !("options" in first)) return waiting.replaceChildren();
  const more = open.length > 1 ? `1 of ${open.length} questions` : "";
  if (waiting.dataset.question !== first.id || waiting.childElementCount === 0) {
    waiting.dataset.question = first.id;
    waiting.replaceChildren(card(first, actions));
  }
  const note = waiting.querySelector(".more");
  if (note !== null) note.textContent = more;
}

function put(item: Item): void {
  items.set(item.id, item);
  drawLater(item.id);
}

function replaceAll(all: Item[]): void {
  items.clear();
  elements.clear();
  rows.replaceChildren();
  pin();
  for (const item of all) put(item);
}

function showState(state: State): void {
  problem.hidden = state.problem === "";
  problem.replaceChildren(element("span", "", state.problem), ...problemButtons());
  queue.hidden = state.queued.length === 0;
  queue.replaceChildren(...state.queued.map((text) => element("li", "", `Waiting: ${text}`)));
  attachment.hidden = state.attachment === "";
  attachmentName.textContent = state.attachment;
  mode.textContent = state.mode;
  unasked.hidden = state.unasked === "";
  unasked.textContent = state.unasked;
  activity.textContent = [state.waiting > 0 ? "waits for you" : state.busy ? "working" : "", state.usage].filter((part) => part !== "").join(" · ");
  stop.hidden = !state.busy;
  steer.hidden = !state.busy;
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

function fit(): void {
  input.rows = Math.min(Math.max(input.value.split("\n").length, 2), 12);
}

function setDraft(text: string): void {
  input.value = text;
  vscode.setState({ draft: text });
  fit();
}

function send(type: "send" | "steer"): void {
  const text = input.value.trim();
  if (text === "") return;
  post({ type, text });
  setDraft("");
  rows.scrollTop = rows.scrollHeight;
}

function follow(event: Event): void {
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  if (link === null) return;
  event.preventDefault();
  const { address } = link.dataset;
  if (address !== undefined) post({ type: "link", address });
}

input.addEventListener("input", () => {
  vscode.setState({ draft: input.value });
  fit();
});
input.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  send(event.altKey ? "steer" : "send");
});
for (const area of [rows, waiting]) {
  area.addEventListener("click", follow);
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter") follow(event);
  });
}
find("#send", HTMLButtonElement).addEventListener("click", () => send("send"));
steer.addEventListener("click", () => send("steer"));
find("#attachment button", HTMLButtonElement).addEventListener("click", () => post({ type: "detach" }));
stop.addEventListener("click", () => post({ type: "stop" }));
unasked.addEventListener("click", () => post({ type: "run", command: "north.showPermissions" }));
mode.addEventListener("click", () => post({ type: "run", command: "north.switchMode" }));

window.addEventListener("message", (event: MessageEvent<ToPage>) => {
  const message = event.data;
  switch (message.type) {
    case "all":
      return replaceAll(message.items);
    case "item":
      return put(message.item);
    case "append": {
      const item = items.get(message.id);
      if (item?.kind === "answer" || item?.kind === "thought") put({ ...item, markdown: item.markdown + message.markdown });
      return;
    }
    case "state":
      return showState(message.state);
    case "draft":
      if (input.value === "") setDraft(message.text);
      return;
    case "focus":
      input.focus();
  }
});

setDraft(vscode.getState()?.draft ?? "");
post({ type: "ready" });
