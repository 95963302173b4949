import assert from "node:assert/strict";
import { test } from "node:test";
import type { Uri } from "vscode";

import { EventEmitter, openFolder, settings } from "./support/vscode";
import { Questions } from "../src/review/questions";
import type { Server } from "../src/common/server";
import { actElsewhere, bannerOf } from "../src/chat/elsewhere";
import { Problem } from "../src/common/problems";
import { Session } from "../src/chat/session";
import { windowIdOf } from "../src/chat/sessionFolders";
import { Transcript } from "../src/chat/transcript";

type Answers = Record<string, (params: { sessionId?: string }) => unknown>;

/** A server whose answers a test gives, and what it was asked. */
function world(answers: Answers = {}) {
  openFolder("/repo");
  settings.enabled = false; // VS Code's trust
  const asked: string[] = [];
  const given: unknown[][] = [];
  const opened: object[] = [];
  const crashed = new EventEmitter<boolean>();
  const restarted = new EventEmitter<Promise<void>>();
  let made = 0;
  const all: Answers = {
    "session/new": () => ({ sessionId: `new-${(made += 1)}` }),
    "session/load": () => ({}),
    "_north/permissions/list": () => ({ permissions: [] }),
    ...answers,
  };
  const client = {
    async sendRequest(method: string, ...sent: [{ sessionId?: string }, ...unknown[]]): Promise<unknown> {
      const [params] = sent;
      if (method === "_north/look") given.push(sent);
      if (method === "session/new" || method === "session/load") opened.push(params);
      if (!method.startsWith("_north/")) asked.push(params.sessionId === undefined ? method : `${method} ${params.sessionId}`);
      return all[method]?.(params) ?? {};
    },
    sendNotification: async (): Promise<void> => undefined,
  };
  const server = { connect: async () => client, client: client as typeof client | undefined, get running() { return this.client; }, onCrash: crashed.event, onRestart: restarted.event, offers: () => true };
  const log = { debug: () => undefined, warn: () => undefined, error: () => undefined };
  const transcript = new Transcript((path) => path);
  const questions = new Questions(() => transcript);
  // The parts of a server and a log that a conversation uses.
  const session = new Session(server as unknown as Server, transcript, questions, log as unknown as ConstructorParameters<typeof Session>[3], undefined, "vscode 1");
  const kept: string[] = [];
  session.onStoredId((id) => kept.push(id));
  const returned: string[] = [];
  session.onUnsent(({ text }) => returned.push(text));
  const notes = () => transcript.all().flatMap((item) => (item.kind === "notice" ? [item.text] : []));
  return { session, server, transcript, asked, given, opened, kept, returned, notes, crashed, restarted };
}

const never = () => new Promise(() => undefined);

test("the server is told which window a conversation is shown in, new or loaded", async () => {
  const { session, opened } = world();
  await session.open();
  await session.renew("old");
  const window = (params: object) => (params as { _meta?: { north: { windowId?: string } } })._meta?.north.windowId;
  assert.deepEqual(opened.map(window), ["vscode 1", "vscode 1"]);
});

test("a command that leads to another conversation is waited for, a turn is not", async () => {
  let answer: (result: object) => void = () => undefined;
  const { session } = world({ "session/prompt": () => new Promise((resolve) => (answer = resolve)) });
  void session.send("rename foo");
  await session.open();
  await session.answeredCommand(); // a turn runs
  answer({ stopReason: "end_turn" });
  void session.send("/continue");
  await session.open();
  let answered = false;
  const waited = session.answeredCommand().then(() => (answered = true));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(answered, false);
  answer({ stopReason: "end_turn" });
  await waited;
  assert.equal(session.busy, false);
});

test("a window is known by its workspace's storage", () => {
  const storage = { path: "/home/me/.config/Code/User/workspaceStorage/0a1b/north.north-lsp" } as Uri;
  assert.equal(windowIdOf(storage), "vscode 0a1b");
  assert.equal(windowIdOf(undefined), undefined);
});

test("the conversation that was kept is loaded, not a new one made", async () => {
  const { session, asked, kept } = world({ "session/load": () => ({ modes: { currentModeId: "ask", availableModes: [] } }) });
  session.restore("old");
  await session.open();
  assert.deepEqual(asked, ["session/load old"]);
  assert.deepEqual(kept, ["old"]);
  assert.equal(session.modeId, "ask");
});

test("what is done until one can ask is told from the beginning, and over in the end", async () => {
  const phases: string[] = [];
  const note = (session: Session) => void (phases.at(-1) !== session.phase && phases.push(session.phase));
  const { session } = world({ "session/load": () => (note(session), {}) });
  session.onState(() => note(session));
  session.restore("old");
  await session.open();
  assert.deepEqual(phases, ["server", "conversation", ""]);
});

test("what could not be opened is not being opened any more", async () => {
  const { session } = world({ "session/new": () => Promise.reject(new Error("no")) });
  await assert.rejects(session.open());
  assert.equal(session.phase, "");
  assert.equal(session.problem, "no");
});

test("a request without a token has one parameter: more of them would be sent as a list", async () => {
  const { session, given } = world();
  await session.ask("_north/look", { tool: "read_file" });
  assert.deepEqual(given.at(-1), [{ sessionId: "new-1", tool: "read_file" }]);
});

test("a turn that ended with the window is said, once", async () => {
  const { session, notes } = world({ "session/load": () => ({ _meta: { north: { endedEarly: true } } }) });
  session.restore("old", { wasRunning: true });
  await session.open();
  assert.equal(notes().filter((text) => text.includes("/continue")).length, 1);
  await session.renew("old");
  assert.deepEqual(notes(), []);
});

test("a turn that came to its end after the window had gone did not end with it", async () => {
  const { session, notes } = world();
  session.restore("old", { wasRunning: true });
  await session.open();
  assert.deepEqual(notes(), []);
});

test("what cannot be loaded is said, and a new conversation begins", async () => {
  const { session, asked, kept, notes } = world({
    "session/load": () => {
      throw new Error("there is no session 'old'");
    },
  });
  session.restore("old");
  await session.open();
  assert.deepEqual(asked, ["session/load old", "session/new"]);
  assert.deepEqual(kept, [""]);
  assert.deepEqual(notes(), ["The conversation cannot be loaded: there is no session 'old'"]);
  assert.equal(session.id, "new-1");
});

test("a conversation is kept from its first prompt on", async () => {
  const { session, kept } = world({ "session/prompt": () => ({ stopReason: "end_turn" }) });
  await session.open();
  assert.deepEqual(kept, []);
  await session.send("hello", []);
  assert.deepEqual(kept, ["new-1"]);
});

test("what was queued when North ended comes back with the conversation", async () => {
  const { session, returned } = world({ "session/load": () => ({ _meta: { north: { queued: [{ id: "1", text: "and then" }] } } }) });
  session.restore("old");
  await session.open();
  assert.deepEqual(returned, ["and then"]);
});

test("after a crash the conversation is loaded again, and what waited is the user's, once", async () => {
  const queued = { _meta: { north: { queued: [{ id: "1", text: "two" }] } } };
  const { session, transcript, crashed, asked, returned, notes } = world({ "session/prompt": never, "session/load": () => queued });
  await session.open();
  void session.send("one", []);
  await until(() => session.busy);
  transcript.began("e1");
  void session.send("two", []);
  await until(() => session.queue.rows.length === 1);
  crashed.fire(true);
  assert.deepEqual(returned, ["two"]); // also if no server comes back
  await until(() => notes().some((text) => text.includes("was started again")));
  assert.ok(asked.includes("session/load new-1"));
  assert.deepEqual(returned, ["two"]);
  assert.ok(notes().some((text) => text.includes("in the middle of a turn and was started again")));
  assert.equal(session.busy, false);
});

test("a restart of the server keeps every conversation that is open", async () => {
  const { session, restarted, asked } = world();
  await session.open();
  restarted.fire(Promise.resolve());
  await until(() => asked.length === 2);
  assert.deepEqual(asked, ["session/new", "session/load new-1"]);
});

test("a conversation that nobody has looked at stays closed when the server restarts", async () => {
  const { restarted, crashed, asked, notes } = world();
  restarted.fire(Promise.resolve());
  crashed.fire(true);
  await new Promise((done) => setTimeout(done, 5));
  assert.deepEqual(asked, []);
  assert.deepEqual(notes(), []);
});

test("the server is told of VS Code's trust, unless that is switched off", async () => {
  const told: unknown[] = [];
  let open = 0;
  const answers: Answers = {
    "_north/trust": (params) => told.push(params),
    "_north/permissions/list": () => ((open += 1), { permissions: [] }), // comes after it
  };
  const { session: silent } = world(answers);
  await silent.open();
  await until(() => open === 1);
  const { session } = world(answers);
  settings.enabled = true;
  await session.open();
  await until(() => open === 2);
  assert.deepEqual(told, [{ sessionId: "new-1", trusted: true }]);
});

test("what is chosen holds for the conversation that runs", async () => {
  const option = { id: "model", name: "Model", currentValue: "a/two", options: [] };
  const { session, asked } = world({ "session/set_config_option": () => ({ configOptions: [option] }) });
  await session.open();
  await session.choose("model", "a/two");
  assert.deepEqual(asked, ["session/new", "session/set_config_option new-1"]);
  assert.deepEqual(session.options, [option]);
});

test("a turn that an earlier process left goes on, and it is no turn that was cut", async () => {
  const asked: string[] = [];
  let end = (_: unknown): void => undefined;
  const { session, notes, transcript } = world({
    "session/load": () => ({ _meta: { north: { unfinished: { reason: "review" } } } }),
    "_north/turn/resume": () => (asked.push("resume"), new Promise((done) => (end = done))),
  });
  session.restore("old", { wasRunning: true });
  await session.open();
  await until(() => asked.length === 1);
  assert.equal(session.busy, true);
  assert.deepEqual(transcript.all(), []);
  end({ stopReason: "end_turn" });
  await until(() => !session.busy);
  assert.deepEqual(notes(), []);
});

test("a conversation that is open elsewhere is followed, taken over, and its turn goes on when that has gone", async () => {
  const by = { pid: 7, client: "Neovim", leaving: false };
  const asked: string[] = [];
  const { session } = world({
    "session/load": () => ({ _meta: { north: { openElsewhere: by } } }),
    "_north/sessions/takeOver": () => asked.push("takeOver"),
    "_north/turn/resume": () => (asked.push("resume"), { stopReason: "end_turn" }),
  });
  session.restore("old");
  await session.open();
  const banner = () => bannerOf(session.elsewhere, session.isTaking, session.canFork);
  assert.equal(banner()?.text, "Open elsewhere (Neovim, process 7): following live.");
  assert.deepEqual(banner()?.buttons.map(({ act }) => act), ["takeOver", "fork"]);
  session.elsewhereChanged({ sessionId: "old", event: "open_elsewhere", by: { ...by, state: "awaiting_review" } });
  assert.ok(banner()?.text.endsWith("It waits for a decision there."));
  await actElsewhere(session, "takeOver");
  assert.deepEqual(asked, ["takeOver"]);
  session.elsewhereChanged({ sessionId: "old", event: "open_elsewhere", by: { ...by, leaving: true } });
  assert.equal(session.busy, true);
  assert.deepEqual(banner()?.buttons, []);
  session.elsewhereChanged({ sessionId: "old", event: "open_elsewhere", by: null, unfinished: { reason: "left" } });
  await until(() => asked.length === 2);
  assert.equal(banner(), undefined);
  await until(() => !session.busy);
});

test("words for the turn that runs are shown once: by the server, unless they are a command", async () => {
  const { session, transcript } = world({ "session/prompt": never, "_north/steer": () => ({ delivered: true }) });
  await session.open();
  void session.send("one", []);
  await until(() => session.busy);
  await session.steer("two");
  await session.steer("/stats");
  session.update({ sessionId: session.id, update: { sessionUpdate: "user_message_chunk", messageId: "e2", content: { type: "text", text: "two" } } });
  assert.deepEqual(transcript.all().flatMap((item) => (item.kind === "user" ? [item.text] : [])), ["one", "/stats", "two"]);
});

test("what waits when the user goes to another conversation comes back into the input", async () => {
  let answer = (_: unknown): void => undefined;
  const { session, returned } = world({ "session/prompt": never, "_north/steer": () => new Promise((done) => (answer = done)) });
  await session.open();
  void session.send("one");
  await until(() => session.busy);
  void session.send("two");
  await until(() => session.queue.rows.length === 1);
  const steered = session.steer("three");
  await session.renew();
  assert.deepEqual(returned, ["two"]);
  answer({ delivered: false });
  await steered;
  assert.deepEqual(returned, ["two", "three"]);
  assert.equal(session.busy, false);
});

test("what waits in a conversation that is closed is the user's again, once, but for what they have removed", async () => {
  const answers: ((result: object) => void)[] = [];
  const { session, returned } = world({ "session/prompt": () => new Promise((answer) => answers.push(answer)), "_north/queue/withdraw": never });
  await session.open();
  const sent = ["runs", "waits", "removed"].map((text) => session.send(text));
  await until(() => answers.length === 3);
  session.queue.take({ followUp: [{ id: "q1", text: "waits" }, { id: "q2", text: "removed" }] });
  void session.queue.act("q2", "remove");
  void session.leave();
  assert.deepEqual(returned, ["waits"]);
  let areAnswered = false;
  const answered = session.unanswered.ended().then(() => (areAnswered = true));
  for (const answer of answers.slice(1)) answer({ stopReason: "cancelled", _meta: { north: { unsent: true } } });
  await Promise.all(sent.slice(1));
  assert.equal(areAnswered, false);
  answers[0]?.({ stopReason: "cancelled", _meta: { north: { unsent: true } } });
  await answered;
  assert.deepEqual(returned, ["waits", "runs"]);
});

test("a message that waits for a conversation that is left goes to no other one, and those for the next one are sent", async () => {
  const loading: Record<string, (answer: object) => void> = {};
  const { session, asked, returned } = world({
    "session/load": ({ sessionId = "" }) => new Promise((answer) => (loading[sessionId] = answer)),
    "session/prompt": () => ({ stopReason: "end_turn" }),
  });
  session.restore("old");
  const one = session.send("one");
  await until(() => loading.old !== undefined);
  const renewed = session.renew("other");
  const two = session.send("two");
  loading.old?.({ configOptions: [{ id: "model", name: "Old", currentValue: "", options: [] }] });
  await one;
  assert.deepEqual(returned, ["one"]);
  await until(() => loading.other !== undefined);
  loading.other?.({});
  await Promise.all([renewed, two]);
  assert.deepEqual(returned, ["one"]);
  assert.deepEqual(session.options, []);
  assert.deepEqual(asked.filter((one) => one.startsWith("session/prompt")), ["session/prompt other"]);
});

test("of two conversations that are chosen at once the later one is shown, once the one before is closed", async () => {
  let close = (_: object): void => undefined;
  const { session, asked, kept } = world({ "session/close": () => new Promise((done) => (close = done)) });
  await session.open();
  const first = session.renew("a"); // that the other one is chosen meanwhile is no failure
  const second = session.renew("b");
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(asked, ["session/new", "session/close new-1"]);
  close({});
  await second;
  await first;
  assert.equal(session.id, "b");
  assert.deepEqual(asked.slice(2), ["session/load b"]);
  assert.equal(kept.at(-1), "b");
});

test("a conversation opens on a new server although the one before never said that it closed another", async () => {
  const { session, asked, crashed } = world({ "session/close": () => new Promise(() => undefined) });
  await session.open();
  void session.renew("b").catch(() => undefined);
  await new Promise((resolve) => setImmediate(resolve));
  crashed.fire(true);
  await until(() => session.id === "b");
  assert.deepEqual(asked, ["session/new", "session/close new-1", "session/load b"]);
});

test("a message whose conversation is left as it has been opened is neither lost nor counted as work", async () => {
  let answer = (_: object): void => undefined;
  const { session, returned, asked } = world({ "session/new": () => new Promise((done) => (answer = done)) });
  const sent = session.send("one");
  await until(() => asked.length === 1);
  void session.leave();
  answer({ sessionId: "new-1" });
  await sent;
  assert.deepEqual([returned, session.busy, session.id], [["one"], false, ""]);
});

test("words for a turn whose server ends come back once, though the next server tells them, too", async () => {
  let fail = (_: Error): void => undefined;
  const queued = { _meta: { north: { queued: [{ id: "1", text: "two\n\na.py" }, { id: "2", text: "three" }] } } };
  const { session, transcript, server, crashed, returned, notes } = world({ "session/prompt": never, "_north/steer": () => new Promise((_, reject) => (fail = reject)), "session/load": () => queued });
  await session.open();
  void session.send("one");
  await until(() => session.busy);
  transcript.began("e1");
  void session.send("two", [{ label: "a.py", block: { type: "resource_link", uri: "file:///a.py", name: "a.py" } }]);
  await until(() => session.queue.rows.length === 1);
  const steered = session.steer("three");
  await new Promise((resolve) => setImmediate(resolve));
  server.client = undefined;
  crashed.fire(true);
  fail(new Error("the pipe is closed"));
  await steered;
  await until(() => notes().some((text) => text.includes("was started again")));
  assert.deepEqual(returned, ["two", "three"]);
});

test("what waited when the server ended too often is in the input at once, and a message after that opens the conversation", async () => {
  const { session, transcript, crashed, returned, asked } = world({ "session/prompt": never });
  await session.open();
  void session.send("one");
  await until(() => session.busy);
  transcript.began("e1");
  void session.send("two");
  await until(() => session.queue.rows.length === 1);
  crashed.fire(false);
  assert.deepEqual(returned, ["two"]);
  assert.match(session.problem, /several times/);
  void session.send("three");
  assert.equal(session.problem, ""); // it is tried again, and that is shown
  await until(() => session.busy);
  assert.deepEqual(asked.slice(-2), ["session/load new-1", "session/prompt new-1"]);
  assert.deepEqual(returned, ["two"]);
});

test("what was sent to a server that ends before its turn begins is the user's again, shown or not", async () => {
  const { session, transcript, crashed, returned, notes } = world({ "session/prompt": never });
  await session.open();
  void session.send("one");
  await until(() => session.busy);
  crashed.fire(true);
  await until(() => notes().some((text) => text.includes("was started again")));
  assert.equal(transcript.all().some((item) => item.kind === "user"), false); // the server does not know of it
  assert.deepEqual(returned, ["one"]);
});

test("a message that the server refused is the user's again", async () => {
  const { session, returned } = world({ "session/prompt": () => Promise.reject(new Error("the pipe is closed")) });
  await session.send("one");
  assert.deepEqual(returned, ["one"]);
});

test("a message that was given up with its conversation is the user's again, what its conversation has is not", async () => {
  for (const north of [{ unsent: true }, {}]) {
    let answer: (result: object) => void = () => undefined;
    const { session, returned } = world({ "session/prompt": () => new Promise((resolve) => (answer = resolve)) });
    await session.open();
    const sent = session.send("one");
    await until(() => session.busy);
    await session.renew();
    answer({ stopReason: "cancelled", _meta: { north } });
    await sent;
    assert.deepEqual(returned, "unsent" in north ? ["one"] : []);
  }
});

test("what is sent again is in the conversation: it never goes into the input", async () => {
  const { session, returned, asked } = world({ "session/prompt": never });
  await session.open();
  void session.send("one");
  await until(() => session.busy);
  void session.sendAgain({ text: "again", attachments: [] });
  await until(() => asked.length === 3);
  await session.renew();
  assert.deepEqual(returned, []);
});

async function until(holds: () => boolean): Promise<void> {
  for (let tries = 0; tries < 200 && !holds(); tries += 1) await new Promise((done) => setTimeout(done, 1));
  assert.ok(holds());
}

test("what North waited for is no problem any more while a restarted server starts", async () => {
  let isTrusted = false;
  let go = (): void => undefined;
  const { session, server, restarted } = world();
  const connect = server.connect;
  server.connect = async () => {
    if (!isTrusted) throw new Problem("not trusted", [], true);
    await new Promise<void>((done) => (go = done)); // installs, starts
    return connect();
  };
  await assert.rejects(session.open());
  assert.equal(session.problem, "not trusted");
  isTrusted = true;
  restarted.fire(Promise.resolve());
  await new Promise((resolve) => setImmediate(resolve));
  const shown = session.problem;
  go();
  assert.equal(shown, "");
});

test("a request that waits for a conversation is told of a restart, which is no unexpected end", async () => {
  const { session, restarted, asked } = world({ "session/new": never });
  const waits = session.ask("_north/look", {}).catch((error: unknown) => String(error));
  await until(() => asked.length === 1);
  restarted.fire(never() as Promise<void>);
  assert.doesNotMatch(String(await waits), /unexpectedly/);
});

test("a message that is sent during the load does not overtake the turn that goes on", async () => {
  const order: string[] = [];
  let load = (_: object): void => undefined;
  const { session } = world({
    "session/load": () => new Promise((done) => (load = done)),
    "session/prompt": () => (order.push("prompt"), never()),
    "_north/turn/resume": () => (order.push("resume"), never()),
  });
  session.restore("old");
  void session.send("one");
  await new Promise((resolve) => setImmediate(resolve));
  load({ _meta: { north: { unfinished: { reason: "left" } } } });
  await until(() => order.length === 2);
  assert.deepEqual(order, ["resume", "prompt"]);
});

test("a message that waits for a load that is never answered is the user's again after a restart", async () => {
  const { session, restarted, asked, returned } = world({ "session/load": never });
  session.restore("old");
  void session.send("one");
  await until(() => asked.length === 1);
  restarted.fire(Promise.resolve());
  await until(() => returned.length === 1);
});
