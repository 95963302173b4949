import assert from "node:assert/strict";
import { test } from "node:test";

import type { ConfigOption } from "../src/acp";
import { offersOf, pickerButtons } from "../src/chat/choices";

const select = (id: string, name: string, currentValue: string, ...options: [string, string, string?][]): ConfigOption => ({
  id,
  name,
  currentValue,
  options: options.map(([value, label, description]) => ({ value, name: label, ...(description ? { description } : {}) })),
});

const mode = select("mode", "Mode", "agent", ["ask", "Ask", "Looks only"], ["agent", "Agent"]);
const model = select("model", "Model", "anthropic/one", ["anthropic/one", "One"], ["offline/offline", "Offline"]);
const edits = (value: string) => select("_edits", "Edits in this project", value, ["review", "Review"], ["auto", "Accept", "Edits are applied"]);
const shell = (value: string) => select("_shell", "Commands in this project", value, ["review", "Review"], ["auto", "Run", "Commands run"]);

const labels = (...options: ConfigOption[]) => pickerButtons(options).map(({ id, label }) => `${id}: ${label}`);

test("a button says the present value by its name", () => {
  assert.deepEqual(labels(mode, model), ["mode: Agent", "model: One"]);
});

test("there is no button for what the server does not offer", () => {
  assert.deepEqual(labels(), []);
  assert.deepEqual(labels(model), ["model: One"]);
});

test("a value that is not among the options is shown as it is", () => {
  assert.deepEqual(labels(select("model", "Model", "gone/gone", ["a/b", "B"])), ["model: gone/gone"]);
});

test("edits and commands are one button", () => {
  assert.deepEqual(labels(edits("review"), shell("review")), ["approvals: Asks first"]);
  assert.deepEqual(labels(edits("auto"), shell("review")), ["approvals: Accepts edits"]);
  assert.deepEqual(labels(edits("review"), shell("auto")), ["approvals: Runs commands"]);
  assert.deepEqual(labels(edits("auto"), shell("auto")), ["approvals: Accepts edits, runs commands"]);
});

test("what lets more happen without a question has to be confirmed, what asks again has not", () => {
  const loosening = (...options: ConfigOption[]) =>
    offersOf(options, "approvals").flatMap((group) => group.offers.filter((offer) => offer.loosens).map((offer) => `${offer.option}=${offer.value}`));
  assert.deepEqual(loosening(edits("review"), shell("review")), ["_edits=auto", "_shell=auto"]);
  assert.deepEqual(loosening(edits("auto"), shell("review")), ["_shell=auto"]);
  assert.deepEqual(offersOf([mode], "mode").flatMap((group) => group.offers.map((offer) => offer.loosens)), [false, false]);
});

test("the present value is marked, and a detail says more than the name", () => {
  const [group] = offersOf([mode, model], "model");
  assert.deepEqual(group?.offers.map(({ label, detail, current }) => [label, detail, current]), [
    ["One", "anthropic/one", true],
    ["Offline", "offline/offline", false],
  ]);
});
