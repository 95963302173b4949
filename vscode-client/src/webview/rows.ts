/** The conversation's rows as elements. */

import type { Item, Question } from "../messages";
import { changes } from "./changes";
import { render } from "./markdown";

export interface Actions {
  open(file: string, line: number | null): void;
  decide(id: string, option: string, comment: string): void;
  review(id: string): void;
  /** End the wait before the model is asked again: by asking it now, or by giving up. */
  retry(now: boolean): void;
}

const MARKS = { pending: "○", in_progress: "◐", completed: "✓", failed: "✗" };
const STATUS = { pending: "waiting", in_progress: "running", completed: "done", failed: "failed" };

export function element(tag: string, className: string, text = ""): HTMLElement {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
}

function button(text: string, className: string, act: () => void): HTMLButtonElement {
  const made = document.createElement("button");
  made.type = "button";
  made.className = className;
  made.textContent = text;
  made.addEventListener("click", act);
  return made;
}

export function row(item: Item, actions: Actions): HTMLElement {
  const made = element("div", `row ${item.kind}`);
  switch (item.kind) {
    case "user":
      made.append(element("p", "words", item.text));
      if (item.attachment !== undefined) made.append(element("p", "attached", item.attachment));
      break;
    case "answer":
      made.append(render(item.markdown));
      break;
    case "thought": {
      const details = element("details", "");
      details.append(element("summary", "", "Thoughts"), render(item.markdown));
      made.append(details);
      break;
    }
    case "tool":
      made.append(tool(item, actions));
      if (item.retries) {
        const buttons = element("div", "buttons");
        buttons.append(button("Try now", "secondary", () => actions.retry(true)));
        buttons.append(button("Give up", "secondary", () => actions.retry(false)));
        made.append(buttons);
      }
      break;
    case "notice":
      made.classList.add(item.severity);
      made.textContent = item.text;
      break;
    case "changes":
      made.append(...changes(item));
      break;
    default:
      fillQuestion(made, item);
  }
  return made;
}

function tool(item: Extract<Item, { kind: "tool" }>, actions: Actions): HTMLElement {
  const { file, line } = item;
  const made =
    file === undefined
      ? element("span", "call")
      : button("", "call plain", () => actions.open(file, line ?? null));
  const mark = element("span", `mark ${item.status}`, MARKS[item.status]);
  mark.setAttribute("aria-label", STATUS[item.status]);
  made.append(mark, element("span", "title", item.title.replaceAll("`", "")));
  made.title = item.title;
  return made;
}

/** A question in its place in the conversation: what was decided, or that it waits. */
function fillQuestion(made: HTMLElement, question: Question): void {
  const { decision } = question;
  made.setAttribute("role", "group");
  made.setAttribute("aria-label", question.heading);
  if (decision === undefined) {
    made.classList.add("asking");
    made.append(element("p", "decision", `${question.heading} — waits for you below`));
    return;
  }
  made.classList.add("decided");
  if (question.kind === "command") made.append(render(question.markdown));
  else if (question.kind === "choice") made.append(element("p", "", question.heading));
  made.append(element("p", "decision", `You chose: ${decision}`));
}

/** A question to be decided. None of the buttons has the focus: a key that was meant for something else decides nothing.
 * What allows something can be pressed once all of the question has been in view. */
export function card(question: Question, actions: Actions): HTMLElement {
  const { id } = question;
  const made = element("div", `row ${question.kind} asked`);
  made.setAttribute("role", "group");
  made.setAttribute("aria-label", question.heading);
  const heading = element("p", "heading", question.heading);
  heading.append(element("span", "more"));
  const body = element("div", "body");
  body.tabIndex = 0;
  body.setAttribute("role", "region");
  body.setAttribute("aria-label", "What it is about");
  body.append(render(question.markdown));
  const hint = element("p", "hint", "Scroll to its end before you allow it.");
  const buttons = element("div", "buttons");
  if (question.hasDiff) buttons.append(button("Show changes", "secondary", () => actions.review(id)));
  const rejecting = question.options.find((option) => option.rejects);
  const comment = document.createElement("input");
  const allowing: HTMLButtonElement[] = [];
  for (const { id: option, name, rejects, lasts } of question.options) {
    const text = lasts ? `${name}…` : name;
    const one = button(text, "secondary", () => actions.decide(id, option, rejects ? comment.value : ""));
    if (!rejects) allowing.push(one);
    buttons.append(one);
  }
  made.append(heading, buttons);
  if (question.markdown !== "") heading.after(body, hint);
  allowWhenSeen(question.markdown === "" ? heading : body, hint, allowing);
  if (rejecting === undefined) return made;
  const { id: option, name } = rejecting;
  comment.placeholder = `${name} and say why: Enter sends`;
  comment.setAttribute("aria-label", `${name} and say why`);
  comment.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing && comment.value.trim() !== "") actions.decide(id, option, comment.value);
  });
  made.append(comment);
  return made;
}

/** A question that takes the place of another must not get the second click of a double one. */
const SETTLED_MS = 400;

function allowWhenSeen(body: HTMLElement, hint: HTMLElement, buttons: HTMLButtonElement[]): void {
  let settled = false;
  const look = (): void => {
    const seen = body.clientHeight > 0 && body.scrollTop + body.clientHeight >= body.scrollHeight - 2;
    hint.hidden = seen;
    if (!seen || !settled) return;
    body.removeEventListener("scroll", look);
    size.disconnect();
    for (const one of buttons) one.disabled = false;
  };
  const size = new ResizeObserver(look);
  hint.hidden = true;
  for (const one of buttons) one.disabled = true;
  body.addEventListener("scroll", look);
  size.observe(body);
  setTimeout(() => {
    settled = true;
    look();
  }, SETTLED_MS);
}
