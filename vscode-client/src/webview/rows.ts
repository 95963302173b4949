/** What the user decides in the conversation: questions, and the wait before a model is asked again. */

import type { FormValues } from "../forms";
import type { FailureAction, PromptAct, Question, TaskAct } from "../messages";
import { button, element } from "./elements";
import { CommandEditing } from "./commandEditing";
import { render } from "./streamedMarkdown";
import { WORDS } from "./texts";
import { t } from "./translations";

export { element };

export interface Actions {
  open(file: string, line: number | null): void;
  /** What a part of a tool call changed, in the diff editor. */
  openDiff(id: string, part: number): void;
  /** `command`: what is to run instead. */
  decide(id: string, option: string, comment: string, command?: string): void;
  fill(id: string, values: FormValues): void;
  review(id: string): void;
  /** End the wait before the model is asked again: by asking it now, or by giving up. */
  retry(now: boolean): void;
  /** All of an output, of which the row has a part. */
  showWhole(artifact: string): void;
  /** The one in which a command runs. */
  showTerminal(): void;
  afterFailure(action: FailureAction): void;
  onPrompt(entry: string, act: PromptAct): void;
  onTask(task: string, act: TaskAct): void;
}

export function retryButtons(actions: Actions): HTMLElement {
  const made = element("div", "buttons");
  made.append(button(WORDS.tryNow, "secondary", () => actions.retry(true)));
  made.append(button(WORDS.giveUp, "secondary", () => actions.retry(false)));
  return made;
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
  body.setAttribute("aria-label", t("What it is about"));
  body.append(render(question.markdown));
  const hint = element("p", "hint", t("Scroll to its end before you allow it."));
  const buttons = element("div", "buttons");
  if (question.hasDiff) buttons.append(button(t("Show changes"), "secondary", () => actions.review(id)));
  const rejecting = question.options.find((option) => option.rejects);
  const comment = document.createElement("input");
  const allowing: HTMLButtonElement[] = [];
  const editing = question.command === undefined ? undefined : new CommandEditing(question.command, body);
  // What allows more than this once stands apart, and does not look like what allows it once.
  const lasting = element("div", "buttons lasting");
  for (const { id: option, name, rejects, lasts } of question.options) {
    const text = lasts ? `${name}…` : name;
    const isMain = question.kind !== "choice" && !rejects && !lasts && allowing.length === 0;
    const one = button(text, lasts ? "plain" : isMain ? "" : "secondary", () => {
      if (rejects) actions.decide(id, option, comment.value);
      else if (editing?.isBlank !== true) actions.decide(id, option, "", editing?.changed);
    });
    if (!rejects) allowing.push(one);
    if (rejects && editing !== undefined) {
      const edit = editing.button(lasting, allowing);
      allowing.push(edit); // not before all of it has been in view: what is not changed runs as it was
      buttons.append(edit);
    }
    (lasts ? lasting : buttons).append(one);
  }
  made.append(heading, ...(question.about === undefined ? [] : [element("p", "about", question.about)]), buttons, ...(lasting.childElementCount > 0 ? [lasting] : []));
  if (question.markdown !== "") buttons.before(body, hint);
  allowWhenSeen(question.markdown === "" ? heading : body, hint, allowing);
  if (rejecting === undefined) return made;
  const { id: option, name } = rejecting;
  comment.placeholder = t("{0} and say why: Enter sends", name);
  comment.setAttribute("aria-label", t("{0} and say why", name));
  comment.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing && comment.value.trim() !== "") actions.decide(id, option, comment.value);
  });
  made.append(comment);
  return made;
}

/** A question that takes the place of another must not get the second click of a double one. */
const SETTLED_MS = 400;

export function allowWhenSeen(body: HTMLElement, hint: HTMLElement, buttons: HTMLButtonElement[]): void {
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
