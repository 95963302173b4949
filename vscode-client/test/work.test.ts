import { at, said } from "./support/page";
import { pin, view } from "./support/pinned";

import assert from "node:assert/strict";
import { test } from "node:test";

import type { State } from "../src/messages";

pin("work");
const textsOf = (selector: string): (string | null)[] => [...document.querySelectorAll(selector)].map((one) => one.textContent);
const { showState } = await import("../src/webview/work");
const show = (work: Partial<State["work"]>, busy = false): void => showState({ work: { goal: null, workflow: null, decisions: [], ...work }, busy } as State);

const GOAL: State["work"]["goal"] = {
  statement: "<b>It works</b>",
  status: "blocked",
  blocked: "No disk",
  criteria: [
    { id: "c1", text: "made", command: "test -f made", state: "stale", evidence: { text: "exit code 0", at: "2026-01-02" } },
    { id: "c2", text: "tidy", state: "open" },
    { id: "c3", text: "quick", state: "met", evidence: { text: "I looked", at: "2026-01-02" } },
  ],
};
const WORKFLOW: State["work"]["workflow"] = {
  name: "clarify",
  folder: ".north/work/login",
  phase: "explore",
  phases: [{ name: "intake", state: "done" }, { name: "explore", state: "now" }, { name: "question", state: "ahead" }],
  held: { why: "", callsLeft: 12 },
};
const DECISIONS: State["work"]["decisions"] = [
  { id: "continue", title: "Continue", prompt: "/work continue" },
  { id: "confirm", title: "Confirm c2", prompt: "/goal confirm c2", criterion: "c2" },
  { id: "stop", title: "End", prompt: "/work stop" },
  { id: "drop", title: "Drop", prompt: "/goal drop" },
];

test("without a goal and a workflow there is nothing to see", () => {
  show({});
  assert.equal(at("#work").hidden, true);
});

test("a goal is pinned with its criteria, what they are met by, and what is in the way", () => {
  show({ goal: GOAL, decisions: DECISIONS });
  assert.equal(at("#work").hidden, false);
  assert.equal(at("#work .counts").textContent, "Goal 1/3");
  assert.equal(at("#work .current").textContent, "<b>It works</b>");
  assert.equal(document.querySelector("#work b"), null);
  assert.deepEqual([...document.querySelectorAll("#work li.criterion")].map((one) => one.className), ["criterion stale", "criterion open", "criterion met"]);
  assert.match(at("#work li.stale").textContent ?? "", /test -f made.*files have changed since.*exit code 0/);
  assert.match(at("#work .hint.warning").textContent ?? "", /No disk/);
});

test("a criterion that is judged by looking is confirmed at its row, and every decision is the server's own", () => {
  show({ goal: GOAL, workflow: WORKFLOW, decisions: DECISIONS });
  assert.deepEqual(textsOf("#work li.criterion button"), ["Confirm"]);
  assert.deepEqual(textsOf("#work .buttons button"), ["Continue", "End the Workflow", "Drop the Goal", "Edit the Goal"]);
  for (const one of document.querySelectorAll("#work li.criterion button, #work .buttons button")) one.dispatchEvent(new view.Event("click"));
  const prompts = ["/goal confirm c2", "/work continue", "/work stop", "/goal drop"].map((prompt) => ({ type: "work", prompt }));
  assert.deepEqual(said.splice(0), [...prompts, { type: "run", command: "north.editGoal" }]);
});

test("a skill with phases is named as one", () => {
  show({ workflow: { name: "release", folder: "", phase: "check", phases: [{ name: "check", state: "now" }] }, decisions: [{ id: "stop", title: "End the skill", prompt: "/skill stop" }] });
  assert.equal(at("#work .counts").textContent, "Skill release");
  assert.deepEqual(textsOf("#work .buttons button"), ["End the Skill"]);
});

test("nothing is continued while a turn runs", () => {
  const isOff = () => at("#work .buttons button").hasAttribute("disabled");
  show({ workflow: WORKFLOW, decisions: DECISIONS }, true);
  assert.equal(isOff(), true);
  show({ workflow: WORKFLOW, decisions: DECISIONS });
  assert.equal(isOff(), false);
});

test("a workflow is pinned with its phases and with why edits and commands wait", () => {
  show({ workflow: WORKFLOW });
  assert.equal(at("#work .counts").textContent, "Workflow clarify");
  assert.equal(at("#work .current").textContent, "explore");
  assert.equal(at("#work .phases [aria-current=step]").className, "now");
  assert.equal(at("#work summary .codicon-lock").hidden, false);
  assert.match(at("#work .hint.lock").textContent ?? "", /wait until clarify has ended.*12 read-only calls are left/);
  show({ workflow: { ...WORKFLOW, name: "execute-and-verify", held: { why: "not run again", spent: ["make test"] } } });
  assert.equal(at("#work summary .codicon-lock").hidden, true);
  assert.equal(at("#work .hint.warning").textContent, "Not run again in this phase, since it failed too often: make test");
  show({ workflow: { ...WORKFLOW, name: "execute-and-verify", held: undefined } });
  assert.equal(at("#work summary .codicon-lock").hidden, true);
  assert.equal(document.querySelector("#work .hint.lock"), null);
});
