/** A form that waits: its fields, one button that answers and one that closes it. What is filled in outlives the page. */

import { type ChoiceField, type FormField, type FormValue, type FormValues, type Misfit, misfit } from "../forms";
import type { Question } from "../messages";
import { button, element } from "./elements";
import { remember, remembered } from "./host";
import { type Actions, allowWhenSeen } from "./rows";
import { render } from "./streamedMarkdown";
import { t } from "./translations";

/** A field as it is drawn: its box, what is in it (undefined for nothing), and what takes the focus. */
interface Drawn {
  field: FormField;
  box: HTMLElement;
  value(): FormValue | undefined;
  first: HTMLElement;
}

export function formCard(question: Question, actions: Actions): HTMLElement {
  const { id, heading, markdown, fields = [], options } = question;
  const made = element("div", "row choice asked form");
  made.setAttribute("role", "group");
  made.setAttribute("aria-label", heading);
  const title = element("p", "heading", heading);
  title.append(element("span", "more"));
  const body = element("div", "body");
  body.tabIndex = 0;
  body.setAttribute("role", "region");
  body.setAttribute("aria-label", t("What it is about"));
  if (markdown !== "") body.append(render(markdown));
  const known = remembered().form;
  const before = known?.question === `${id} ${heading}` ? known.values : undefined;
  const drawn = fields.map((field) => draw(field, `${id}-${field.key}`, before));
  for (const { field, box } of drawn) {
    // A form of one question says it in its heading.
    if (heading.endsWith(field.title)) box.querySelector(".title")?.classList.add("visually-hidden");
    body.append(box);
  }
  const hint = element("p", "hint", t("Scroll to its end before you answer."));
  const problem = element("p", "problem");
  problem.setAttribute("role", "alert");
  problem.hidden = true;
  const read = (): FormValues => {
    const values = drawn.map(({ field, value }): [string, FormValue | undefined] => [field.key, value()]);
    return Object.fromEntries(values.filter((entry): entry is [string, FormValue] => entry[1] !== undefined));
  };
  const answer = (): void => {
    const values = read();
    const found = misfit(fields, values);
    problem.hidden = found === undefined;
    if (found === undefined) return actions.fill(id, values);
    const at = drawn.find(({ field }) => field.key === found.key);
    problem.textContent = t("{0}: {1}", at?.field.title ?? found.key, WRONG[found.why]);
    at?.first.focus();
  };
  const buttons = element("div", "buttons");
  const [first, ...others] = options;
  const accept = button(first?.name ?? t("Answer"), "", answer);
  buttons.append(accept, ...others.map((option) => button(option.name, "secondary", () => actions.decide(id, option.id, ""))));
  const keep = (): void => remember({ form: { question: `${id} ${heading}`, values: read() } });
  for (const name of ["input", "change"]) body.addEventListener(name, keep);
  body.addEventListener("keydown", (event) => {
    const { target } = event;
    if (event.key !== "Enter" || event.isComposing || !(target instanceof HTMLInputElement)) return;
    event.preventDefault();
    if (!accept.disabled) answer(); // not before all of it has been in view
  });
  made.append(title, body, hint, problem, buttons);
  allowWhenSeen(body, hint, [accept]);
  return made;
}

const WRONG: Record<Misfit, string> = {
  missing: t("this must be filled in."),
  long: t("this is too long."),
  number: t("this must be a number."),
  range: t("this number is out of range."),
  unknown: t("this cannot be chosen."),
};

function draw(field: FormField, id: string, before: FormValues | undefined): Drawn {
  switch (field.kind) {
    case "choice":
      return drawChoice(field, id, before?.[field.key]);
    case "switch": {
      const input = inputOf("checkbox", id);
      input.checked = before === undefined ? field.value : before[field.key] === true;
      return { field, box: labeled(field, input), first: input, value: () => input.checked };
    }
    case "number":
    case "text": {
      const input = inputOf("text", id);
      if (field.kind === "number") input.inputMode = field.whole ? "numeric" : "decimal";
      input.value = String((before === undefined ? field.value : before[field.key]) ?? "");
      const value = (): FormValue | undefined => {
        const written = input.value.trim();
        if (written === "") return undefined;
        return field.kind === "number" ? Number(written) : input.value;
      };
      return { field, box: labeled(field, input), first: input, value };
    }
  }
}

function drawChoice(field: ChoiceField, id: string, before: FormValue | undefined): Drawn {
  const box = element("fieldset", "field");
  box.append(element("legend", "title", field.title));
  if (field.detail !== "") box.append(element("p", "detail", field.detail));
  const chosen = before === undefined ? field.chosen : Array.isArray(before) ? before : [String(before)];
  const inputs = field.options.map(({ value, name }, place) => {
    const input = inputOf(field.several ? "checkbox" : "radio", `${id}-${place}`);
    input.name = id;
    input.value = value;
    input.checked = chosen.includes(value);
    const label = element("label", "option");
    label.append(input, element("span", "", name));
    box.append(label);
    return input;
  });
  const value = (): FormValue | undefined => {
    const values = inputs.filter((input) => input.checked).map((input) => input.value);
    return field.several && (field.required || values.length > 0) ? values : values[0];
  };
  return { field, box, first: inputs[0] ?? box, value };
}

/** A field of one input, with its name before it, or behind a box to tick. */
function labeled(field: FormField, input: HTMLInputElement): HTMLElement {
  const box = element("div", "field");
  const label = element("label", input.type === "checkbox" ? "option" : "title");
  label.setAttribute("for", input.id);
  if (input.type === "checkbox") label.append(input, element("span", "", field.title));
  else label.textContent = field.title;
  box.append(label);
  if (field.detail !== "") {
    const detail = element("p", "detail", field.detail);
    detail.id = `${input.id}-detail`;
    input.setAttribute("aria-describedby", detail.id);
    box.append(detail);
  }
  if (input.type !== "checkbox") box.append(input);
  return box;
}

function inputOf(type: "text" | "checkbox" | "radio", id: string): HTMLInputElement {
  const input = document.createElement("input");
  input.type = type;
  input.id = id;
  return input;
}
