/** The conversation's rows as elements. */

import type { Item, Question } from "../messages";
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
    default:
      fillQuestion(made, item, actions);
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

/** None of the buttons has the focus: a key that was meant for something else decides nothing. */
function fillQuestion(made: HTMLElement, question: Question, actions: Actions): void {
  const { id, decision } = question;
  made.setAttribute("role", "group");
  made.setAttribute("aria-label", question.title);
  if (decision !== undefined) {
    made.classList.add("decided");
    if (question.kind === "command") made.append(render(question.markdown));
    made.append(element("p", "decision", `You chose: ${decision}`));
    return;
  }
  const heading = question.kind === "command" ? "North asks to run this command" : question.title;
  made.append(element("p", "heading", heading), render(question.markdown));
  const buttons = element("div", "buttons");
  if (question.kind === "edit") buttons.append(button("Show changes", "secondary", () => actions.review(id)));
  const rejecting = question.options.find((option) => option.rejects);
  const comment = document.createElement("input");
  for (const { id: option, name, rejects } of question.options) {
    buttons.append(button(name, "secondary", () => actions.decide(id, option, rejects ? comment.value : "")));
  }
  made.append(buttons);
  if (rejecting === undefined) return;
  const { id: option, name } = rejecting;
  comment.placeholder = `${name} and say why: Enter sends`;
  comment.setAttribute("aria-label", `${name} and say why`);
  comment.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing && comment.value.trim() !== "") actions.decide(id, option, comment.value);
  });
  made.append(comment);
}
