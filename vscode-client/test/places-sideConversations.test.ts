import assert from "node:assert/strict";
import { test } from "node:test";
import type { LanguageClient } from "vscode-languageclient/node";

import type { PromptResult, UpdateParams } from "../src/acp";
import { allIdle } from "../src/common/idle";
import { SideConversations } from "../src/places/sideConversations";

type Answer = (params: { sessionId: string }) => unknown;

/** A server that answers as it is told, and what it was asked. */
function server(answers: Record<string, Answer>) {
  const asked: string[] = [];
  const client = {
    async sendRequest(method: string, params: { sessionId: string }): Promise<unknown> {
      asked.push(method);
      const answer = answers[method];
      return answer === undefined ? {} : answer(params);
    },
    async sendNotification(method: string): Promise<void> {
      asked.push(method);
    },
  };
  return { asked, client: client as unknown as LanguageClient };
}

const folders = () => ({ cwd: "/p", additionalDirectories: [], mcpServers: [] });
const chunk = (sessionId: string, text: string): UpdateParams => ({
  sessionId,
  update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } },
});
const never = { isCancellationRequested: false, onCancellationRequested: () => ({ dispose: () => {} }) };
const noWait = () => assert.fail("nothing waits");
const ended = (stopReason: string, error?: object): PromptResult => ({ stopReason, ...(error ? { _meta: { north: { error } } } : {}) });

test("a single question has a conversation of which nothing stays, and that only reads", async () => {
  const played = server({
    "session/new": () => ({ sessionId: "s" }),
    "session/prompt": () => {
      aside.take(chunk("other", "not this"));
      aside.take(chunk("s", "Hel"));
      aside.take(chunk("s", "lo"));
      assert.equal(aside.mayAsk("s"), false);
      return ended("end_turn");
    },
  });
  const aside: SideConversations = new SideConversations(async () => played.client, folders);
  assert.equal(await aside.askOnce([], never, noWait), "Hello");
  assert.deepEqual(played.asked, ["session/new", "session/set_mode", "session/prompt", "session/delete"]);
  aside.take(chunk("s", "too late"));
});

test("a single question says that it waits before the model is asked again, once for each wait, and the wait can be ended", async () => {
  const waited: string[] = [];
  const wait = (attempt: number, seconds: number, status: "in_progress" | "completed" = "in_progress"): UpdateParams => ({
    sessionId: "s",
    update: { sessionUpdate: "tool_call_update", toolCallId: "r", title: `Trying again in ${seconds} s (${attempt} of 9): over…`, status, _meta: { north: { retry: { attempt } } } },
  });
  const played = server({
    "session/new": () => ({ sessionId: "s" }),
    "session/prompt": async () => {
      for (const told of [wait(1, 2), wait(1, 1), wait(1, 0, "completed"), wait(2, 4)]) aside.take(told);
      await aside.retryNow("s");
      return ended("end_turn");
    },
  });
  const aside: SideConversations = new SideConversations(async () => played.client, folders);
  await aside.askOnce([], never, (words) => waited.push(words));
  assert.deepEqual(waited, ["Trying again in 2 s (1 of 9): over…", "", "Trying again in 4 s (2 of 9): over…"]);
  assert.ok(played.asked.includes("_north/retry/now"));
  const before = played.asked.length;
  await aside.retryNow("s"); // it is over
  assert.equal(played.asked.length, before);
});

test("a model that failed is no answer, and a cancelled question has none", async () => {
  let result = ended("end_turn", { kind: "auth" });
  const played = server({
    "session/new": () => ({ sessionId: "s" }),
    "session/prompt": () => {
      aside.take(chunk("s", "The key was refused."));
      return result;
    },
  });
  const aside: SideConversations = new SideConversations(async () => played.client, folders);
  await assert.rejects(aside.askOnce([], never, noWait), /The key was refused/);
  assert.equal(played.asked.at(-1), "session/delete");
  result = ended("cancelled");
  assert.equal(await aside.askOnce([], never, noWait), "");
});

test("it is at work until all answers are there, and what was asked in a turn is over with it", async () => {
  const answers: ((result: PromptResult) => void)[] = [];
  const over: string[] = [];
  const played = server({ "session/prompt": () => new Promise((resolve) => answers.push(resolve)) });
  const aside = new SideConversations(async () => played.client, folders, (id) => over.push(id));
  const turns = ["a", "b"].map((id) => aside.ask(id, [], { update: () => {} }, never));
  await new Promise(setImmediate);
  let isIdle = false;
  const idle = allIdle([aside, { busy: false, idle: async () => undefined }]).then(() => (isIdle = true));
  answers[0]?.(ended("end_turn"));
  await turns[0];
  await new Promise(setImmediate);
  assert.deepEqual([aside.busy, isIdle, over], [true, false, ["a"]]);
  answers[1]?.(ended("end_turn"));
  await Promise.all([...turns, idle]);
  assert.deepEqual([aside.busy, over], [false, ["a", "b"]]);
});

test("the user is asked about a conversation only while somebody listens for that", async () => {
  let asks = 0;
  const played = server({
    "session/new": () => ({ sessionId: "s" }),
    "session/prompt": () => {
      assert.equal(aside.mayAsk("s"), true);
      return ended("end_turn");
    },
  });
  const aside: SideConversations = new SideConversations(async () => played.client, folders);
  const id = await aside.begin();
  assert.equal(aside.mayAsk(id), false);
  await aside.ask(id, [], { update: () => {}, asks: () => (asks += 1) }, never);
  assert.equal(asks, 1);
  assert.equal(aside.mayAsk(id), false);
});

test("another server knows a conversation once it has loaded it, if it can", async () => {
  const first = server({ "session/new": () => ({ sessionId: "s" }) });
  const second = server({});
  const third = server({
    "session/resume": () => {
      throw new Error("unknown");
    },
  });
  let now = first;
  const aside = new SideConversations(async () => now.client, folders);
  await aside.begin();
  assert.equal(await aside.reopen("s"), "s");
  assert.deepEqual(first.asked, ["session/new"]);
  now = second;
  assert.equal(await aside.reopen("s"), "s");
  assert.equal(await aside.reopen("s"), "s");
  assert.deepEqual(second.asked, ["session/resume"]);
  now = third;
  assert.equal(await aside.reopen("s"), undefined);
});

test("a cancelled message is cancelled in the server", async () => {
  let cancel: () => void = () => {};
  const onCancellationRequested = (listener: (event: undefined) => unknown) => {
    cancel = () => void listener(undefined);
    return { dispose: () => {} };
  };
  const token = { isCancellationRequested: false, onCancellationRequested };
  const played = server({
    "session/new": () => ({ sessionId: "s" }),
    "session/prompt": () => {
      cancel();
      return ended("cancelled");
    },
  });
  const aside = new SideConversations(async () => played.client, folders);
  await aside.ask(await aside.begin(), [], { update: () => {} }, token);
  assert.deepEqual(played.asked, ["session/new", "session/prompt", "session/cancel"]);
});
