import assert from "node:assert/strict";
import { test } from "node:test";

import { useCode } from "../src/chat/code";
import { answers, env, EventEmitter, window } from "./support/vscode";

test("code of several lines is pasted once its own terminal is the active one, and the clipboard is as before", async () => {
  const changed = new EventEmitter<unknown>();
  const other = { name: "a program" };
  const terminal = { show: () => undefined };
  const pasted: unknown[] = [];
  let clipboard = "mine";
  const state = { activeTerminal: other as object };
  Object.assign(window, { createTerminal: () => terminal, onDidChangeActiveTerminal: changed.event });
  Object.defineProperty(window, "activeTerminal", { get: () => state.activeTerminal });
  Object.assign(env, { clipboard: { readText: async () => clipboard, writeText: async (text: string) => void (clipboard = text) } });
  answers["workbench.action.terminal.paste"] = () => pasted.push([state.activeTerminal, clipboard]);
  const used = useCode({ type: "code", what: "terminal", text: "cd a\nmake", name: "", language: "sh" });
  await new Promise(setImmediate);
  changed.fire(other);
  assert.deepEqual(pasted, []);
  state.activeTerminal = terminal;
  changed.fire(terminal);
  await used;
  assert.deepEqual(pasted, [[terminal, "cd a\nmake"]]);
  assert.equal(clipboard, "mine");
});
