import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { useCode } from "../src/chat/code";
import { answers, env, EventEmitter, window } from "./support/vscode";

interface Terminal {
  name: string;
  exitStatus?: object;
  show(): void;
  sendText(text: string): void;
}

const changed = new EventEmitter<unknown>();
const closed = new EventEmitter<unknown>();
const other = { name: "a program" };
const pasted: unknown[] = [];
const warned: string[] = [];
let made: Terminal[] = [];
let clipboard = "mine";
let active: object = other;
/** What VS Code does when a terminal is to be shown. */
let show = (_: Terminal): void => undefined;
let copy = (): void => undefined;

Object.defineProperty(window, "activeTerminal", { get: () => active });

beforeEach(() => {
  Object.assign(window, {
    createTerminal: () => {
      const terminal: Terminal = { name: `North ${made.length}`, show: () => show(terminal), sendText: (text) => void pasted.push([terminal, text]) };
      made.push(terminal);
      return terminal;
    },
    onDidChangeActiveTerminal: changed.event,
    onDidCloseTerminal: closed.event,
    showWarningMessage: async (text: string) => void warned.push(text),
  });
  Object.assign(env, { clipboard: { readText: async () => clipboard, writeText: async (text: string) => void (clipboard = text) } });
  answers["workbench.action.terminal.paste"] = () => (pasted.push([active, clipboard]), copy());
});

/** Each test has a terminal of its own, as after the user has closed the one before. */
afterEach(() => {
  for (const terminal of made) terminal.exitStatus = {};
  made = [];
  pasted.length = warned.length = 0;
  [active, clipboard] = [other, "mine"];
  show = () => undefined;
  copy = () => undefined;
});

const type = (text: string) => useCode({ type: "code", what: "terminal", text, name: "", language: "sh" });
const settled = () => new Promise(setImmediate);

function activate(terminal: object): void {
  active = terminal;
  changed.fire(terminal);
}

test("code of several lines is pasted once its own terminal is the active one, and the clipboard is as before", async () => {
  const used = type("cd a\nmake");
  await settled();
  changed.fire(other);
  assert.deepEqual(pasted, []);
  const [terminal] = made;
  assert.ok(terminal);
  activate(terminal);
  await used;
  assert.deepEqual(pasted, [[terminal, "cd a\nmake"]]);
  assert.equal(clipboard, "mine");
});

test("code goes into its own terminal also where the user goes to another one before it is pasted", async () => {
  show = (terminal) => (active = terminal);
  const write = env as { clipboard?: { writeText(text: string): Promise<void> } };
  if (write.clipboard !== undefined) write.clipboard.writeText = async (text) => {
    clipboard = text;
    queueMicrotask(() => queueMicrotask(() => (active = other))); // between the look and the paste
  };
  const used = type("cd a\nmake");
  await settled();
  const [terminal] = made;
  assert.ok(terminal);
  if (pasted.length === 0) activate(terminal);
  await used;
  assert.deepEqual(pasted, [[terminal, "cd a\nmake"]]);
});

test("code whose terminal is closed before it can be pasted goes nowhere, which is said, and the next goes into a new one", async () => {
  const used = type("cd a\nmake");
  await settled();
  const [terminal] = made;
  assert.ok(terminal);
  terminal.exitStatus = {};
  closed.fire(terminal);
  await used;
  assert.deepEqual([pasted, clipboard, warned.length], [[], "mine", 1]);
  await type("make");
  assert.deepEqual(pasted, [[made[1], "make"]]);
});

test("what the user copies while code is pasted stays in the clipboard", async () => {
  show = (terminal) => (active = terminal);
  copy = () => (clipboard = "copied by the user");
  await type("cd a\nmake");
  assert.equal(clipboard, "copied by the user");
});

test("what fails of a paste is told", async () => {
  show = (terminal) => (active = terminal);
  Object.assign((env as { clipboard?: object }).clipboard ?? {}, { readText: async () => Promise.reject(new Error("no clipboard")) });
  await assert.rejects(type("cd a\nmake"), /no clipboard/);
});

test("two blocks are pasted one after the other, and what is copied while the terminal opens stays in the clipboard", async () => {
  const used = [type("cd a\nmake"), type("cd b\nmake")];
  await settled();
  clipboard = "copied meanwhile";
  const [terminal] = made;
  assert.ok(terminal);
  activate(terminal);
  await Promise.all(used);
  assert.deepEqual(pasted.map((one) => (one as unknown[])[1]), ["cd a\nmake", "cd b\nmake"]);
  assert.equal(clipboard, "copied meanwhile");
});

test("what the user copies before the code is pasted is not pasted, and stays", async () => {
  show = (terminal) => (active = terminal);
  Object.assign((env as { clipboard?: object }).clipboard ?? {}, { writeText: async () => void (clipboard = "copied by the user") });
  await type("cd a\nmake");
  assert.deepEqual([pasted, clipboard, warned.length], [[], "copied by the user", 1]);
});
