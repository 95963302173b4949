/** The rows of the conversation. A row is filled once and then changed: what is open, selected or focused in it stays so. */

import type { FailureAction, Item, PlanEntry, PromptAct, Question } from "../messages";
import { withLinks } from "./addresses";
import { showChanges } from "./changes";
import { build } from "./dom";
import { button, element, icon, iconButton, setText } from "./elements";
import { showSummary } from "./summary";
import { StreamedMarkdown, render } from "./streamedMarkdown";
import { type Actions, retryButtons } from "./rows";
import { showTool } from "./tool";
import { WORDS } from "./texts";

/** Shows an item in its row, each time that it has changed. */
export type Show = (item: Item) => unknown;
type Of<Kind extends Item["kind"]> = Extract<Item, { kind: Kind }>;

export function fill(row: HTMLElement, item: Item, actions: Actions): Show {
  switch (item.kind) {
    case "user":
      return fillPrompt(row, item, actions);
    case "answer":
      return showAnswer(row);
    case "thought":
      return showThought(row);
    case "tool":
      return showTool(row, actions);
    case "retry":
      return showRetry(row, actions);
    case "plan":
      return showPlan(row);
    case "failure":
      return (now) => now.kind === "failure" && fillFailure(row, now, actions);
    case "summary":
      return showSummary(row);
    case "changes":
      return (now) => now.kind === "changes" && showChanges(row, now);
    case "notice": {
      const words = element("span", "");
      words.append(...withLinks(item.text).map(build));
      row.classList.add(item.severity);
      row.append(icon(NOTICE_ICONS[item.severity] ?? "info"), words);
      return () => {};
    }
    default:
      return (now) => {
        if ("options" in now) fillQuestion(row, now);
      };
  }
}

const NOTICE_ICONS: Record<string, string> = { warning: "warning", error: "error" };
/** Longer texts are folded. */
const MOST_LINES = 12;

/** A long text is folded; a button shows all of it. */
function foldLong(box: HTMLElement, text: string): void {
  const lines = text.split("\n").reduce((sum, line) => sum + 1 + Math.floor(line.length / 80), 0);
  if (lines <= MOST_LINES) return;
  box.classList.add("folded");
  const more = button(WORDS.showAll, "plain fold-long", () => {
    const folded = box.classList.toggle("folded");
    more.textContent = folded ? WORDS.showAll : WORDS.showLess;
    more.setAttribute("aria-expanded", String(!folded));
  });
  more.setAttribute("aria-expanded", "false");
  box.after(more);
}

const PROMPT_BUTTONS: [act: PromptAct, icon: string, words: string][] = [
  ["edit", "edit", WORDS.editPrompt],
  ["rewind", "discard", WORDS.rewindHere],
  ["branch", "git-branch", WORDS.branchHere],
];

function fillPrompt(row: HTMLElement, item: Of<"user">, actions: Actions): Show {
  const words = element("p", "words", item.text);
  words.hidden = item.text === "";
  row.append(words);
  foldLong(words, item.text);
  const attached = element("p", "attached");
  row.append(attached);
  const acts = element("div", "acts");
  row.append(acts);
  return (now) => {
    if (now.kind !== "user") return;
    const { entry } = now;
    if (entry !== undefined && acts.childElementCount === 0) {
      for (const [act, name, label] of PROMPT_BUTTONS) acts.append(iconButton(name, label, () => actions.onPrompt(entry, act)));
      row.dataset.vscodeContext = JSON.stringify({ northPrompt: entry });
    }
    attached.hidden = now.attachment === undefined;
    setText(attached, now.attachment ?? "");
  };
}

function showAnswer(row: HTMLElement): Show {
  const prose = new StreamedMarkdown(row);
  return (item) => item.kind === "answer" && prose.show(item.markdown);
}

/** Thoughts are drawn while they are open. */
function showThought(row: HTMLElement): Show {
  const details = document.createElement("details");
  const body = element("div", "thoughts");
  const summary = element("summary", "");
  summary.append(icon("chevron-right"), element("span", "", WORDS.thoughts));
  details.append(summary, body);
  row.append(details);
  const prose = new StreamedMarkdown(body);
  let markdown = "";
  const draw = (): void => {
    if (details.open) prose.show(markdown);
  };
  details.addEventListener("toggle", draw);
  return (item) => {
    if (item.kind === "thought") markdown = item.markdown;
    draw();
  };
}

function showRetry(row: HTMLElement, actions: Actions): Show {
  const mark = icon("sync");
  const words = element("span", "retry-words");
  const reason = element("p", "reason");
  const buttons = retryButtons(actions);
  row.append(mark, words, reason, buttons);
  return (item) => {
    if (item.kind !== "retry") return;
    const { state } = item;
    row.dataset.state = state;
    mark.className = `codicon codicon-${state === "waiting" ? "sync" : state === "over" ? "debug-restart" : "error"}`;
    const said = { waiting: WORDS.trying(item), over: WORDS.triedAgain(item), stopped: WORDS.gaveUp(item) };
    setText(words, said[state]);
    setText(reason, item.reason);
    buttons.hidden = state !== "waiting";
  };
}

const PLAN_ICONS = { pending: "circle-large-outline", in_progress: "loading", completed: "pass" };
const PLAN_WORDS = { pending: WORDS.pending, in_progress: WORDS.running, completed: WORDS.done };

function showPlan(row: HTMLElement): Show {
  const head = element("p", "heading");
  const list = element("ul", "plan-list");
  row.append(head, list);
  return (item) => {
    if (item.kind !== "plan") return;
    const { entries } = item;
    setText(head, `${WORDS.plan} · ${entries.filter((entry) => entry.status === "completed").length}/${entries.length}`);
    list.replaceChildren(...entries.map(planEntry));
  };
}

function planEntry({ text, status }: PlanEntry): HTMLElement {
  const made = element("li", status);
  const mark = icon(PLAN_ICONS[status]);
  if (status === "in_progress") mark.classList.add("codicon-modifier-spin");
  made.append(mark, element("span", "", text), element("span", "visually-hidden", ` (${PLAN_WORDS[status]})`));
  return made;
}

const FAILURE_WORDS: Record<FailureAction, string> = {
  storeKey: WORDS.storeKey,
  again: WORDS.again,
  switchModel: WORDS.switchModel,
};

function fillFailure(row: HTMLElement, item: Of<"failure">, actions: Actions): void {
  row.replaceChildren();
  const heading = element("p", "heading");
  heading.append(icon("error"), element("span", "", WORDS.failedAnswer));
  const buttons = element("div", "buttons");
  for (const action of item.actions) {
    buttons.append(button(FAILURE_WORDS[action], "secondary", () => actions.afterFailure(action)));
  }
  row.append(heading, element("p", "reason", item.text), buttons);
}

/** A question in its place in the conversation: that it waits, or what was decided, on one line. What was asked is drawn
 * when the user opens it. */
function fillQuestion(row: HTMLElement, question: Question): void {
  const { decision } = question;
  row.replaceChildren();
  row.classList.toggle("asking", decision === undefined);
  row.classList.toggle("decided", decision !== undefined);
  if (decision === undefined) {
    row.append(element("p", "decision", WORDS.waitsBelow));
    return;
  }
  const chosen = question.kind === "choice" ? `${question.heading} — ${decision}` : WORDS.chose(decision);
  if (question.markdown === "") return row.append(element("p", "decision", chosen));
  const details = document.createElement("details");
  const summary = element("summary", "decision");
  summary.append(icon("chevron-right"), element("span", "", chosen));
  const body = element("div", "decided-body");
  details.append(summary, body);
  details.addEventListener("toggle", () => {
    if (details.open && body.childElementCount === 0) body.append(render(question.markdown));
  });
  row.append(details);
}
