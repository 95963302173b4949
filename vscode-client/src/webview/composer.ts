/** What the user writes: the input, its draft, and what goes with it. */

import type { State } from "../messages";
import { find, post, remember, remembered } from "./host";
import { scrollToEnd } from "./list";

const input = find("#input", HTMLTextAreaElement);
const attachment = find("#attachment", HTMLElement);
const attachmentName = find("#attachment span", HTMLElement);
const steer = find("#steer", HTMLButtonElement);

export function showState(state: State): void {
  attachment.hidden = state.attachment === "";
  attachmentName.textContent = state.attachment;
  steer.hidden = !state.busy;
}

/** A draft from the extension never takes the place of what is being written. */
export function offerDraft(text: string): void {
  if (input.value === "") setDraft(text);
}

/** What was not sent comes back, before what is being written. */
export function giveBack(text: string): void {
  setDraft(input.value.trim() === "" ? text : `${text}\n\n${input.value}`);
}

export function focus(): void {
  input.focus();
}

function fit(): void {
  input.rows = Math.min(Math.max(input.value.split("\n").length, 2), 12);
}

function setDraft(text: string): void {
  input.value = text;
  remember({ draft: text });
  fit();
}

function send(type: "send" | "steer"): void {
  const text = input.value.trim();
  if (text === "") return;
  post({ type, text });
  setDraft("");
  scrollToEnd();
}

input.addEventListener("input", () => {
  remember({ draft: input.value });
  fit();
});
input.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  send(event.altKey ? "steer" : "send");
});
find("#send", HTMLButtonElement).addEventListener("click", () => send("send"));
steer.addEventListener("click", () => send("steer"));
find("#attachment button", HTMLButtonElement).addEventListener("click", () => post({ type: "detach" }));

setDraft(remembered().draft ?? "");
