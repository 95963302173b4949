/** The goal and the workflow, pinned above the input: folded to how far they are, with what is held and what the user decides. */

import type { State } from "../messages";
import { button, element, icon, screenReaderText, scrolls } from "./elements";
import { redraw, setHidden, toInput } from "./focus";
import { find, post } from "./host";
import { t } from "./translations";

type Work = State["work"];
type Goal = NonNullable<Work["goal"]>;
type Workflow = NonNullable<Work["workflow"]>;
type Criterion = Goal["criteria"][number];
type Decision = Work["decisions"][number];

const ICONS: Record<Criterion["state"], string> = { open: "circle-large-outline", met: "pass", stale: "history", failed: "error" };
const STATES: Record<Criterion["state"], string> = { open: t("open"), met: t("met"), stale: t("stale: files have changed since"), failed: t("failed") };
const PHASES: Record<Workflow["phases"][number]["state"], string> = { done: t("done"), now: t("in progress"), ahead: t("waiting") };

const box = find("#work", HTMLElement);
const summary = element("summary", "");
const counts = element("span", "counts");
const current = element("span", "current");
const held = icon("lock");
const heldWords = screenReaderText("");
const body = scrolls(element("div", "lists"), t("Goal and Workflow"));
const buttons = element("div", "buttons");
let drawn = "";

summary.append(icon("chevron-right"), icon("target"), counts, current, held, heldWords);
box.append(summary, body, buttons);

export function showState({ work, busy }: State): void {
  const next = JSON.stringify([work, busy]);
  if (next === drawn) return; // what is folded, selected or focused stays so
  drawn = next;
  const { goal, workflow } = work;
  const isSkill = workflow?.folder === "";
  const name = workflow?.name ?? "";
  counts.textContent = goal === null ? (isSkill ? t("Skill {0}", name) : t("Workflow {0}", name)) : t("Goal {0}/{1}", goal.criteria.filter(({ state }) => state === "met").length, goal.criteria.length);
  current.textContent = workflow === null ? (goal?.statement ?? "") : goal === null ? workflow.phase : `${workflow.name}: ${workflow.phase}`;
  held.hidden = workflow?.held === undefined || workflow.held.spent !== undefined;
  heldWords.textContent = held.hidden ? "" : ` (${t("edits and commands wait")})`;
  redraw(body, () => body.replaceChildren(...(workflow === null ? [] : workflowOf(workflow)), ...(goal === null ? [] : goalOf(goal, work.decisions))), toInput);
  redraw(buttons, () => buttons.replaceChildren(...buttonsOf(work, busy)), toInput);
  setHidden(box, goal === null && workflow === null);
}

function goalOf(goal: Goal, decisions: readonly Decision[]): HTMLElement[] {
  const list = element("ul", "plan-list");
  list.setAttribute("aria-label", t("Criteria"));
  list.append(...goal.criteria.map((one) => criterionOf(one, decisions.find(({ id, criterion }) => id === "confirm" && criterion === one.id))));
  const status = goal.status === "complete" ? [hint("pass", t("The goal is reached."))] : goal.blocked === undefined ? [] : [hint("warning", t("Blocked: {0}", goal.blocked))];
  return [element("p", "statement", goal.statement), list, ...status];
}

function criterionOf(one: Criterion, confirm: Decision | undefined): HTMLElement {
  const made = element("li", `criterion ${one.state}`);
  const words = element("div", "words");
  words.append(element("span", "", one.text), screenReaderText(` (${STATES[one.state]})`));
  if (one.command !== undefined) words.append(element("code", "", one.command));
  const why = [one.state === "stale" ? STATES.stale : "", one.evidence?.text ?? ""].filter((part) => part !== "");
  if (why.length > 0) words.append(element("span", "evidence", why.join(" · ")));
  made.append(icon(ICONS[one.state]), words);
  if (confirm !== undefined) {
    const choice = button(t("Confirm"), "secondary", () => decide(confirm));
    choice.setAttribute("aria-label", t("Confirm: {0}", one.text));
    made.append(choice);
  }
  return made;
}

function workflowOf(workflow: Workflow): HTMLElement[] {
  const phases = element("ol", "phases");
  phases.setAttribute("aria-label", t("Phases of {0}", workflow.name));
  phases.append(...workflow.phases.map(({ name, state }) => {
    const made = element("li", state, name);
    if (state === "now") made.setAttribute("aria-current", "step");
    made.append(screenReaderText(` (${PHASES[state]})`));
    return made;
  }));
  const note = workflow.note === undefined ? [] : [element("p", "evidence", workflow.note)];
  return [phases, ...note, ...heldOf(workflow)];
}

function heldOf({ name, held: why }: Workflow): HTMLElement[] {
  if (why === undefined) return [];
  if (why.spent !== undefined) return [hint("warning", t("Not run again in this phase, since it failed too often: {0}", why.spent.join(", ")))];
  const left = [
    why.callsLeft === undefined ? "" : t("{0} read-only calls are left.", why.callsLeft),
    why.roundsLeft === undefined ? "" : t("{0} rounds of questions are left.", why.roundsLeft),
  ];
  return [hint("lock", [t("Edits and commands wait until {0} has ended; only its own documents are written.", name), ...left].filter((part) => part !== "").join(" "))];
}

function buttonsOf({ decisions, goal, workflow }: Work, busy: boolean): HTMLElement[] {
  const names: Record<Decision["id"], string> = { continue: t("Continue"), confirm: t("Confirm"), stop: workflow?.folder === "" ? t("End the Skill") : t("End the Workflow"), drop: t("Drop the Goal") };
  const made = decisions.filter(({ id }) => id !== "confirm").map((decision) => {
    const one = button(names[decision.id], "secondary", () => decide(decision));
    one.disabled = decision.id === "continue" && busy;
    return one;
  });
  return goal === null ? made : [...made, button(t("Edit the Goal"), "secondary", () => post({ type: "run", command: "north.editGoal" }))];
}

function hint(name: string, text: string): HTMLElement {
  const made = element("p", `hint ${name}`);
  made.append(icon(name), element("span", "", text));
  return made;
}

function decide({ prompt }: Decision): void {
  post({ type: "work", prompt });
}
