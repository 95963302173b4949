/** What the user writes: the input, its draft, what goes with it, and what is offered while it is written. */

import type { ComposerState, FoundValue, Sent, State, ToPage } from "../messages";
import { keepThumbnail, showChips } from "./chips";
import { type Completed, Completion } from "./completion";
import { SOURCES, TEXTS } from "./composerTexts";
import { setHidden } from "./focus";
import { History } from "./history";
import { find, post, remember, remembered } from "./host";
import { scrollToEnd } from "./list";
import { hideOffers, showOffers } from "./offers";
import { acceptPictures, fromBase64 } from "./pasting";
import { prepare } from "./pictures";

const input = find("#input", HTMLTextAreaElement);
const note = find("#composer-note", HTMLElement);
const steer = find("#steer", HTMLButtonElement);

const completion = new Completion();
const history = new History(remembered().history);
const REPEAT_MS = 700;
/** Between what was written in several places. */
const GAP = "\n\n";
/** What the input has of before: what is typed since comes behind it. */
let draftBefore = joined(remembered().draft ?? "", "");
let composed: ComposerState = { chips: [], suggested: [], commands: [] };
let pictures = 0;
let sendings = 0;
let knowsHistory = false;
let busy = false;

export function showState(state: State): void {
  busy = state.busy;
  showSteer();
}

export function showComposer(state: ComposerState): void {
  composed = state;
  showChips(state, () => input.focus());
  showSteer();
}

/** There is something to say, and a turn to say it to. */
function showSteer(): void {
  setHidden(steer, !busy || !hasSomething());
}

function hasSomething(): boolean {
  return input.value.trim() !== "" || composed.chips.length > 0;
}

export function showPaths({ request, paths, names, symbols, isIncomplete }: Extract<ToPage, { type: "paths" }>): void {
  if (!completion.arrived(request, paths, symbols, names)) return;
  drawOffers();
  if (!isIncomplete || paths.length > 0) return;
  // The folders are being read for the first time.
  setTimeout(() => {
    const { token } = completion;
    if (completion.request === request && token !== undefined) post({ type: "complete", request, query: token.query });
  }, REPEAT_MS);
}

export function showValues(request: number, values: FoundValue[]): void {
  if (completion.valuesArrived(request, values)) drawOffers();
}

/** What was sent in other conversations, too: it arrives when the user first looks back. */
export function showHistory(prompts: string[]): void {
  const isWaiting = document.activeElement === input && input.value === "" && history.all().length === 0;
  history.extend(prompts);
  if (isWaiting) showOther(true);
}

export function loadPicture(mimeType: string, data: string): void {
  void addPicture(fromBase64(mimeType, data));
}

/** A draft that is offered never takes the place of what is being written. */
export function offerDraft(text: string): void {
  if (input.value === "") setDraft(text);
}

/** What was not sent comes back, before what is being written. */
export function restoreUnsent(text: string): void {
  if (text !== "") setDraft(joined(text, input.value));
}

/** What was being written in the page before, which is in another place of the window, and has other things in its memory: it
 * takes the place of what was remembered here, and of nothing that is typed since. */
export function takeOver(text: string): void {
  const before = draftBefore;
  draftBefore = text;
  if (text !== before) setDraft(joined(text, typedSince(before)));
}

/** Where the user has changed the draft of before, all is theirs. */
function typedSince(before: string): string {
  if (input.value === before) return "";
  const start = before === "" ? "" : `${before}${GAP}`;
  return input.value.startsWith(start) ? input.value.slice(start.length) : input.value;
}

/** After the page is ready, which has the extension tell what was being written elsewhere: so far it does not know of this. */
export function tellDraft(): void {
  if (input.value !== "") post({ type: "draft", text: input.value });
}

/** What was sent, and may have ended with the window before anybody saw to it. */
export function unsettled(): Sent[] {
  return remembered().sent ?? [];
}

export function settled(ids: string[]): void {
  remember({ sent: unsettled().filter(({ id }) => !ids.includes(id)) });
}

function joined(text: string, typed: string): string {
  return [text, typed].filter((one) => one.trim() !== "").join(GAP);
}

export function focus(): void {
  input.focus();
}

function setDraft(text: string, caret = text.length): void {
  input.value = text;
  input.setSelectionRange(caret, caret);
  keepDraft();
  complete();
}

function keepDraft(): void {
  remember({ draft: input.value });
  post({ type: "draft", text: input.value });
  showSteer();
}

function send(type: "send" | "steer"): void {
  const text = input.value.trim();
  if (!hasSomething()) return;
  sendings += 1;
  const sent = { id: `${Date.now()}-${sendings}`, text };
  history.add(text);
  remember({ history: history.all(), sent: [...unsettled(), sent] });
  post({ type, ...sent });
  setDraft("");
  scrollToEnd();
}

// -- completion ---------------------------------------------------------------------------------------------------------

function complete(): void {
  const isWriting = document.activeElement === input && input.selectionStart === input.selectionEnd;
  const caret = isWriting ? input.selectionStart : -1;
  const query = caret < 0 ? completion.update("", 0, [], []) : completion.update(input.value, caret, composed.commands, SOURCES);
  const { token, request } = completion;
  if (query !== undefined && token?.kind === "value") post({ type: "completeValue", request, command: token.command ?? "", before: token.before ?? [] });
  else if (query !== undefined) post({ type: "complete", request, query });
  drawOffers();
}

function drawOffers(): void {
  if (completion.isOpen) showOffers(input, completion.offers, completion.active, (index) => take(completion.accept(input.value, index)));
  else hideOffers(input);
}

function take(accepted: Completed | undefined): void {
  if (accepted === undefined) return;
  const { text, caret, offer } = accepted;
  const goesOn = offer.kind === "folder" && !/\s$/.test(text.slice(0, caret));
  setDraft(text, caret);
  input.focus();
  if (offer.kind === "source") post({ type: "attachSource", source: offer.name });
  else if (offer.kind === "symbol") post({ type: "attachSymbol", id: offer.id });
  else if (offer.kind === "command" || offer.kind === "value") complete(); // what can follow it
  else if (!goesOn && offer.kind !== "name") post({ type: "attachPath", path: offer.name.replace(/\/$/, "") }); // a name's text is read by the server
}

/** Returns whether the key was for what is offered. */
function completes(event: KeyboardEvent): boolean {
  if (!completion.isOpen) return false;
  switch (event.key) {
    case "ArrowDown":
    case "ArrowUp":
      if (event.shiftKey || event.altKey || event.ctrlKey || event.metaKey) return false;
      completion.move(event.key === "ArrowDown" ? 1 : -1);
      drawOffers();
      return true;
    case "Enter":
      if (event.shiftKey || event.altKey || completion.isComplete || completion.current === undefined) return false;
      take(completion.accept(input.value));
      return true;
    case "Tab":
      if (event.shiftKey) return false;
      take(completion.accept(input.value, completion.active, true));
      return true;
    case "Escape":
      completion.dismiss();
      drawOffers();
      return true;
    default:
      return false;
  }
}

// -- keys ---------------------------------------------------------------------------------------------------------------

/** Shows an earlier or a later message where the cursor cannot go further that way. */
function lookBack(event: KeyboardEvent): boolean {
  if (event.shiftKey || event.altKey || event.ctrlKey || event.metaKey || input.selectionStart !== input.selectionEnd) return false;
  const isUp = event.key === "ArrowUp";
  const { selectionStart: caret, value } = input;
  if (caret === (isUp ? 0 : value.length)) return showOther(isUp);
  // In the first or the last line, wrapped ones too, the key does not move it.
  setTimeout(() => {
    if (input.selectionStart === caret && input.selectionEnd === caret && input.value === value) showOther(isUp);
  }, 0);
  return false;
}

function showOther(isOlder: boolean): boolean {
  if (isOlder && !knowsHistory) {
    knowsHistory = true;
    post({ type: "history" });
  }
  const found = isOlder ? history.older(input.value) : history.newer(input.value);
  if (found === undefined) return false;
  remember({ history: history.all() });
  setDraft(found, isOlder ? 0 : found.length);
  completion.dismiss(); // a command of before is not to be completed
  drawOffers();
  return true;
}

/** Returns whether the key has done something of the composer's own. */
function handles(event: KeyboardEvent): boolean {
  if (completes(event)) return true;
  switch (event.key) {
    case "Enter":
      if (event.shiftKey) return false;
      // A key that is held down was meant for what had the focus before.
      if (!event.repeat) send(event.altKey ? "steer" : "send");
      return true;
    case "ArrowUp":
    case "ArrowDown":
      return lookBack(event);
    case "Backspace": {
      const last = composed.chips.at(-1);
      if (input.value !== "" || last === undefined || event.repeat) return false;
      post({ type: "detach", id: last.id });
      return true;
    }
    default:
      return false;
  }
}

// -- pictures and files -------------------------------------------------------------------------------------------------

async function addPicture(file: Blob): Promise<void> {
  note.hidden = true;
  try {
    const { mimeType, data, width, height, thumbnail } = await prepare(file);
    pictures += 1;
    const id = `picture-${Date.now()}-${pictures}`;
    keepThumbnail(id, thumbnail);
    post({ type: "picture", id, mimeType, data, width, height });
  } catch {
    tell(TEXTS.badPicture);
  }
}

function tell(text: string): void {
  note.textContent = text;
  note.hidden = false;
}

input.addEventListener("input", () => {
  note.hidden = true;
  keepDraft();
  complete();
});
input.addEventListener("keydown", (event) => {
  // While an input method composes, its keys are its own; 229 is what it sends at the end in some browsers.
  if (event.isComposing || event.keyCode === 229) return;
  if (handles(event)) event.preventDefault();
});
document.addEventListener("selectionchange", () => {
  if (document.activeElement === input) complete();
});
input.addEventListener("blur", () => hideOffers(input));
input.addEventListener("focus", complete);
find("#send", HTMLButtonElement).addEventListener("click", () => send("send"));
steer.addEventListener("click", () => send("steer"));
find("#attach", HTMLButtonElement).addEventListener("click", () => post({ type: "attach" }));
acceptPictures(input, find("#entry", HTMLElement), (file) => void addPicture(file), () => tell(TEXTS.notTaken));

// The input is there before this script is: what was typed by now stays.
input.value = joined(draftBefore, input.value);
remember({ draft: input.value });
