import assert from "node:assert/strict";
import { test } from "node:test";

import { commands, window } from "./support/vscode";
import { actionsOf, type Around, chooseSetting, type SettingRow, shown } from "../src/common/settingsList";

const row = (more: Partial<SettingRow>): SettingRow => ({ key: "turn.maxRequests", text: "How many.", value: 200, origin: "default", expects: "a number", choices: [], needsRestart: false, project: "yes", ...more });
const FILES = { user: "/c/config.json", project: "/p/.north/settings.json" };

/** A server with these settings, and a user who chooses rows by these words and types `typed`. */
function world(settings: SettingRow[], words: string[], typed?: string) {
  const asked: object[] = [];
  const opened: string[] = [];
  const offered: string[][] = [];
  const around: Around = {
    async ask<Result>(method: string, params: object): Promise<Result> {
      asked.push({ method, ...params });
      return { settings, files: FILES } as Result; // what this server answers
    },
    textOf: (key) => (key === "selectedModel" ? undefined : `Text of ${key}.`),
    openFile: async (path) => opened.push(path),
  };
  Object.assign(window, {
    showQuickPick: async (items: { label: string }[]) => {
      offered.push(items.map(({ label }) => label));
      const word = words.shift();
      return items.find(({ label }) => label === word);
    },
    showInputBox: async () => typed,
  });
  return { around, asked, opened, offered };
}

test("what was changed comes first, and a value with few choices is chosen", async () => {
  const changed = row({ key: "edits.staleCheck", value: "off", origin: "session", choices: ["strict", "warn", "off"], project: "stricter" });
  const { around, asked, offered } = world([row({}), changed], ["edits.staleCheck", "Change for This Conversation…", "strict"]);
  await chooseSetting(around);
  assert.deepEqual(offered[0], ["edits.staleCheck", "turn.maxRequests"]);
  assert.deepEqual(asked.at(-1), { method: "_north/config/set", key: "edits.staleCheck", place: "session", value: "strict" });
});

test("another one is typed, and nothing is done without an answer", async () => {
  const first = world([row({})], ["turn.maxRequests", "Change for This Project…"], "7");
  await chooseSetting(first.around);
  assert.deepEqual(first.asked.at(-1), { method: "_north/config/set", key: "turn.maxRequests", place: "project", typed: "7" });
  const second = world([row({})], ["turn.maxRequests", "Change for This Project…"]);
  await chooseSetting(second.around);
  assert.equal(second.asked.length, 1);
});

test("VS Code's own settings are opened at the one, and the file for those that are not there", async () => {
  const ran: unknown[] = [];
  Object.assign(commands, { executeCommand: async (...words: unknown[]) => void ran.push(words) });
  await chooseSetting(world([row({})], ["turn.maxRequests", "Change in VS Code’s Settings"]).around);
  assert.deepEqual(ran, [["workbench.action.openSettings", "@id:north.turn.maxRequests"]]);
  const { around, opened } = world([row({ key: "selectedModel" })], ["selectedModel", "Open Settings File"]);
  await chooseSetting(around);
  assert.deepEqual(opened, ["/c/config.json"]);
});

test("only what is possible is offered", () => {
  const { around } = world([], []);
  const labels = (more: Partial<SettingRow>) => actionsOf(row(more), FILES, around).map(({ label }) => label);
  assert.deepEqual(labels({ needsRestart: true, project: "no", origin: "editor" }), ["Change in VS Code’s Settings"]);
  assert.deepEqual(labels({ project: "stricter", origin: "project" }), [
    "Change in VS Code’s Settings",
    "Change for This Conversation…",
    "Make Stricter for This Project…",
    "Reset: project",
    "Open the Project’s Settings File",
  ]);
  assert.deepEqual(actionsOf(row({}), { user: "/c" }, around).map(({ label }) => label), ["Change in VS Code’s Settings", "Change for This Conversation…"]);
});

test("a value is shown on one line, and cannot draw an icon", () => {
  assert.deepEqual([shown(null), shown("$(x)"), shown(["a"]), shown(false)], ["not set", "$\u200b(x)", '["a"]', "false"]);
});
