import assert from "node:assert/strict";
import { test } from "node:test";

import { type Choosing, valuesOf } from "../src/composer/values";

const settings = [
  { key: "theme", text: "How it looks.", value: "dark", choices: ["dark", "light"] },
  { key: "budget.turn", text: "What a turn may cost.", value: 5, choices: [] },
];
const conversation: Choosing = {
  options: [{ id: "model", name: "Model", currentValue: "a/b", options: [{ value: "a/b", name: "Better" }, { value: "c", name: "c" }] }],
  ask: async <Result>(method: string): Promise<Result> => ({ method, settings }) as Result,
};
const names = async (command: string, ...before: string[]) => (await valuesOf(conversation, command, before)).map(({ value }) => value);

test("a setting is named, then its value, then what that applies to", async () => {
  assert.deepEqual(await names("config"), ["theme", "budget.turn"]);
  assert.deepEqual(await names("config", "theme"), ["dark", "light", "--session", "--project", "--reset"]);
  assert.deepEqual(await names("config", "theme", "dark"), ["--session", "--project"]);
  assert.deepEqual(await names("config", "budget.turn"), ["--session", "--project", "--reset"]);
  assert.deepEqual(await names("config", "nothing"), []);
  assert.equal((await valuesOf(conversation, "config", []))[0]?.detail, '"dark" · How it looks.');
});

test("models are offered with their names, and only one of them", async () => {
  assert.deepEqual(await valuesOf(conversation, "model", []), [{ value: "a/b", detail: "Better" }, { value: "c", detail: "" }]);
  assert.deepEqual(await names("model", "a/b"), []);
  assert.deepEqual(await names("thinking"), []); // this model has none
});
