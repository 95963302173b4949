import assert from "node:assert/strict";
import { test } from "node:test";
import type { LanguageClient } from "vscode-languageclient/node";

import { Terminals } from "../src/places/terminals";
import { EventEmitter, window } from "./support/vscode";

/** A window whose shells start when a test says so, and a server that asks for a command in one. */
function world() {
  const integrated = new EventEmitter<{ terminal: object; shellIntegration: object }>();
  const closed = new EventEmitter<object>();
  const withdrawn = new EventEmitter<void>();
  const ran: string[] = [];
  const disposed: object[] = [];
  const made: object[] = [];
  let isRunning = true;
  const shellIntegration = { executeCommand: (line: string) => (ran.push(line), { read: async function* () {} }) };
  Object.assign(window, {
    createTerminal() {
      const terminal = { show: () => undefined, dispose: () => void disposed.push(terminal), sendText: () => undefined };
      made.push(terminal);
      return terminal;
    },
    onDidChangeTerminalShellIntegration: integrated.event,
    onDidCloseTerminal: closed.event,
    onDidEndTerminalShellExecution: new EventEmitter<never>().event,
  });
  const handlers = new Map<string, (params: object, token: object) => Promise<unknown>>();
  const client = { onRequest: (method: string, handler: (params: object, token: object) => Promise<unknown>) => handlers.set(method, handler), isRunning: () => isRunning };
  new Terminals().listen(client as unknown as LanguageClient, (id) => id === "s1");
  const token = { isCancellationRequested: false, onCancellationRequested: withdrawn.event };
  const create = async (sessionId = "s1") => handlers.get("terminal/create")?.({ sessionId, command: "sh", args: ["-c", "make"] }, token);
  return {
    create,
    ran,
    disposed,
    /** The shell is there at last. */
    start: () => integrated.fire({ terminal: made[0] ?? {}, shellIntegration }),
    close: () => closed.fire(made[0] ?? {}),
    withdraw() {
      token.isCancellationRequested = true;
      withdrawn.fire();
    },
    end: () => (isRunning = false),
  };
}

test("a command runs as soon as the shell is there", async () => {
  const { create, start, ran, disposed } = world();
  const created = create();
  start();
  assert.deepEqual(await created, { terminalId: "terminal-1" });
  assert.deepEqual([ran.length, disposed.length], [1, 0]);
});

test("what is stopped while the shell starts does not run afterwards, and its terminal is gone", async () => {
  const { create, start, withdraw, ran, disposed } = world();
  const created = create();
  withdraw();
  start();
  await assert.rejects(created);
  assert.deepEqual([ran.length, disposed.length], [0, 1]);
});

test("a stop at the moment in which the shell is there counts, too", async () => {
  const { create, start, withdraw, ran, disposed } = world();
  const created = create();
  start();
  withdraw();
  await assert.rejects(created);
  assert.deepEqual([ran.length, disposed.length], [0, 1]);
});

test("nothing runs for a server that has ended meanwhile, nor in a terminal that was closed, nor for another conversation", async () => {
  const ended = world();
  const late = ended.create();
  ended.end();
  ended.start();
  await assert.rejects(late);
  assert.deepEqual([ended.ran.length, ended.disposed.length], [0, 1]);
  const closed = world();
  const gone = closed.create();
  closed.close();
  await assert.rejects(gone, /closed/);
  await assert.rejects(world().create("s2"), /no such conversation/);
});
