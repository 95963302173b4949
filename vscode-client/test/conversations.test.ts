import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { Conversations, type Parts } from "../src/chat/conversations";
import { Questions } from "../src/review/questions";
import { EventEmitter, openFolder, Uri } from "./support/vscode";

const shared = mkdtempSync(join(tmpdir(), "north-conversations-"));
after(() => rmSync(shared, { recursive: true, force: true }));

/** What the server is asked, to be answered by a test. */
interface Asked {
  method: string;
  sessionId: string;
  answer(result: object): void;
}

/** The conversations of a window, over a server that answers as a test says what was sent, and whether it was closed. */
function world() {
  openFolder("/repo");
  const asked: Asked[] = [];
  let made = 0;
  const client = {
    async sendRequest(method: string, { sessionId = "" }: { sessionId?: string }): Promise<unknown> {
      if (method === "session/new") return { sessionId: `s${(made += 1)}` };
      if (!["session/prompt", "session/close", "_north/steer"].includes(method)) return {};
      return new Promise((answer) => asked.push({ method, sessionId, answer }));
    },
    sendNotification: async (): Promise<void> => undefined,
  };
  const never = new EventEmitter().event;
  const conversations = new Conversations({
    extension: Uri.parse("file:///north"),
    server: { connect: async () => client, running: client, onCrash: never, onRestart: never, offers: () => true },
    questions: new Questions(() => conversations.main.transcript),
    proposals: { typing: { reset: () => undefined } },
    before: {},
    log: { debug: () => undefined, warn: () => undefined, error: () => undefined },
    memory: { get: () => undefined, update: async () => undefined },
    shared,
    windowId: undefined,
  } as unknown as Parts); // the parts of these that conversations use
  const openTab = async () => {
    await conversations.openTab();
    const tab = conversations.all.at(-1) ?? assert.fail();
    await tab.session.open();
    return tab;
  };
  const until = async (holds: () => boolean) => {
    for (let turns = 0; turns < 100 && !holds(); turns += 1) await new Promise(setImmediate);
    assert.ok(holds());
  };
  return { conversations, asked, openTab, until };
}

const unsent = { stopReason: "cancelled", _meta: { north: { unsent: true } } };

test("what waits in a tab that is closed with its conversation is in the side bar's input, and what the server tells later, too", async () => {
  const { conversations, asked, openTab, until } = world();
  const { session } = await openTab();
  void session.send("runs");
  void session.send("waits");
  await until(() => asked.length === 2);
  void session.steer("steers");
  await until(() => asked.length === 3);
  void conversations.close(conversations.all.at(-1) ?? assert.fail());
  assert.equal(conversations.all.length, 1);
  const taken = () => conversations.main.panel.takeUnsent()?.text;
  assert.equal(taken(), "waits");
  const answer = (method: string, result: object) => asked.filter((one) => one.method === method).forEach((one) => one.answer(result));
  answer("session/close", {}); // first: the answers to what was sent may come after it
  await new Promise(setImmediate);
  answer("_north/steer", { delivered: false });
  answer("session/prompt", unsent);
  await session.unanswered.ended();
  assert.deepEqual(taken()?.split("\n\n").sort(), ["runs", "steers"]);
  conversations.dispose();
});
