import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import type { Memento, Uri, Webview } from "vscode";

import type { PromptBlock } from "../src/acp";
import { Panel } from "../src/chat/panel";
import { Session } from "../src/chat/session";
import { Transcript } from "../src/chat/transcript";
import { ChatView } from "../src/chat/view";
import type { Server } from "../src/common/server";
import type { FromPage, ToPage } from "../src/messages";
import { Questions } from "../src/review/questions";
import { answers, EventEmitter, openFolder, Uri as address } from "./support/vscode";

type Answers = Record<string, (params: { prompt?: PromptBlock[] }) => unknown>;

const panels: Panel[] = [];
afterEach(() => panels.splice(0).forEach((panel) => panel.dispose()));

/** A chat's page that says what a test says, over a server that answers so. `connect` may fail. */
function world(replies: Answers = {}, connect: () => Promise<void> = async () => undefined, memory = new Map<string, unknown>()) {
  openFolder("/repo");
  const sent: string[] = [];
  const client = {
    async sendRequest(method: string, params: { prompt?: PromptBlock[] }): Promise<unknown> {
      if (params.prompt !== undefined) sent.push(`${method} ${params.prompt.map((block) => (block.type === "text" ? block.text : block.type)).join(" + ")}`);
      if (method === "session/new") return replies[method]?.(params) ?? { sessionId: "s1" };
      return replies[method]?.(params) ?? (method === "session/prompt" ? { stopReason: "end_turn" } : {});
    },
    sendNotification: async (): Promise<void> => undefined,
  };
  const server = { connect: () => connect().then(() => client), running: client, onCrash: new EventEmitter().event, onRestart: new EventEmitter().event, offers: () => true };
  const log = { debug: () => undefined, warn: () => undefined, error: () => undefined };
  const transcript = new Transcript();
  const questions = new Questions(() => transcript);
  const session = new Session(server as unknown as Server, transcript, questions, log as unknown as ConstructorParameters<typeof Session>[3]);
  const revealed: boolean[] = [];
  // The parts of these that a page uses here.
  const proposals = { typing: { reset: () => undefined } } as unknown as ConstructorParameters<typeof Panel>[4];
  const turns = { shownAnew: async () => undefined } as unknown as ConstructorParameters<typeof Panel>[5];
  const extension = address.parse("file:///north") as unknown as Uri;
  const panel = new Panel(extension, session, transcript, questions, proposals, turns, async (preserveFocus) => void revealed.push(preserveFocus), async () => undefined, {
    get: <T>(key: string) => memory.get(key) as T | undefined,
    update: async (key, value) => void memory.set(key, value),
  } as Pick<Memento, "get" | "update">);
  panels.push(panel);
  const posted: ToPage[] = [];
  let isGone = false;
  let made = 0;
  let receive: (message: FromPage) => Promise<unknown> = async () => undefined;
  const webview = {
    onDidReceiveMessage: (listener: typeof receive) => (receive = listener),
    postMessage: async (message: ToPage) => !isGone && posted.push(message) > 0,
    asWebviewUri: () => "",
  };
  return {
    panel,
    session,
    transcript,
    sent,
    revealed,
    posted,
    webview: webview as unknown as Webview,
    fill: () => panel.fill(webview as unknown as Webview),
    /** The page takes nothing any more, or does again. */
    goAway: (gone: boolean) => (isGone = gone),
    tell: (message: FromPage) => receive(message),
    say: (text: string, type: "send" | "steer" = "send") => receive({ type, id: `${(made += 1)}`, text }),
    /** What the page has in its input, as it joins it. */
    input: (typed = "") => posted.reduce((text, message) => (message.type !== "restoreUnsent" ? text : text === "" ? message.text : `${message.text}\n\n${text}`), typed),
    notes: () => transcript.all().flatMap((item) => (item.kind === "notice" ? [item.text] : [])),
  };
}

const settled = () => new Promise(setImmediate);
const picture = { label: "Picture", block: { type: "image" as const, mimeType: "image/png", data: "" } };

test("a page that is made for a question takes no focus, though there was none before", async () => {
  const { panel, revealed, fill, tell, posted } = world();
  await panel.show(true);
  fill();
  await tell({ type: "ready", unsettled: [] });
  assert.deepEqual(revealed, [true]);
  assert.deepEqual(posted.filter(({ type }) => type === "focus"), []);
  await panel.show(false);
  assert.deepEqual(posted.filter(({ type }) => type === "focus").length, 1);
});

test("the side bar's view that is not there yet is opened without the focus, too", async () => {
  const called: unknown[] = [];
  answers["north.chat.focus"] = (...given) => called.push(...given);
  await new ChatView(() => 0).reveal(true);
  assert.deepEqual(called, [{ preserveFocus: true }]);
});

test("what was sent while North started comes back when it cannot start: in its order, before what is typed by now", async () => {
  let fail = (_: Error): void => undefined;
  const { fill, tell, say, input, sent } = world({}, () => new Promise((_, reject) => (fail = reject)));
  fill();
  const begun = [tell({ type: "ready", unsettled: [] }), say("one"), say("two"), say("three", "steer")];
  await settled();
  fail(new Error("no Python"));
  await Promise.all(begun);
  assert.equal(input("four"), "one\n\ntwo\n\nthree\n\nfour");
  assert.deepEqual(sent, []);
});

test("what is sent while North starts is shown as waiting until the conversation has it", async () => {
  let start = (): void => undefined;
  const { fill, tell, say, posted, transcript } = world({}, () => new Promise((done) => (start = done)));
  const waiting = () => posted.flatMap((message) => (message.type === "state" ? [message.state.queued.map(({ text }) => text)] : [])).at(-1);
  fill();
  const begun = [tell({ type: "ready", unsettled: [] }), say("one")];
  await settled();
  assert.deepEqual([waiting(), transcript.all()], [["one"], []]);
  start();
  await Promise.all(begun);
  assert.deepEqual([waiting(), transcript.lastPrompt()], [[], "one"]);
});

test("a page is told what the conversation has of what it sent, and gets back what was sent in a window that has ended", async () => {
  let start = (): void => undefined;
  const { fill, tell, say, posted, input } = world({}, () => new Promise((done) => (start = done)));
  const told = () => posted.flatMap((message) => (message.type === "settled" ? message.ids : []));
  fill();
  const begun = [tell({ type: "ready", unsettled: [{ id: "of before", text: "lost" }] }), say("one")];
  await settled();
  assert.deepEqual([told(), input()], [["of before"], "lost"]);
  fill(); // the page is made anew
  begun.push(tell({ type: "ready", unsettled: [{ id: "of before", text: "lost" }, { id: "1", text: "one" }] }));
  await settled();
  assert.deepEqual([told(), input()], [["of before", "of before"], "lost"]);
  start();
  await Promise.all(begun);
  assert.deepEqual([told().at(-1), input()], ["1", "lost"]);
});

test("a page that is gone when its message is delivered does not give it back in a later window", async () => {
  const memory = new Map<string, unknown>();
  let start = (): void => undefined;
  const first = world({}, () => new Promise((done) => (start = done)), memory);
  first.fill();
  const begun = [first.tell({ type: "ready", unsettled: [] }), first.say("one")];
  await settled();
  first.fill(); // in another place of the window, whose page has other things in its memory
  begun.push(first.tell({ type: "ready", unsettled: [] }), first.tell({ type: "send", id: "2", text: "two" }));
  await settled();
  start();
  await Promise.all(begun);
  assert.deepEqual(first.sent, ["session/prompt one", "session/prompt two"]);
  const later = world({}, undefined, memory);
  later.fill();
  await later.tell({ type: "ready", unsettled: [{ id: "1", text: "one" }, { id: "3", text: "lost" }] });
  await settled();
  assert.equal(later.input(), "lost");
  assert.deepEqual(later.posted.flatMap((message) => (message.type === "settled" ? message.ids : [])), ["1", "3"]);
});

test("what could not be sent when its page is gone is given back in a later window: nobody may have seen it", async () => {
  const memory = new Map<string, unknown>();
  let fail = (_: Error): void => undefined;
  const { panel, webview, fill, tell, say } = world({}, () => new Promise((_, reject) => (fail = reject)), memory);
  fill();
  const begun = [tell({ type: "ready", unsettled: [] }), say("one")];
  await settled();
  panel.empty(webview); // as the window ends
  fail(new Error("the window ends"));
  await Promise.all(begun);
  const later = world({}, undefined, memory);
  later.fill();
  await later.tell({ type: "ready", unsettled: [{ id: "1", text: "one" }] });
  await settled();
  assert.equal(later.input(), "one");
});

test("a page that is made anew in its place is told itself of what was delivered", async () => {
  const memory = new Map<string, unknown>();
  let start = (): void => undefined;
  const { fill, tell, say } = world({}, () => new Promise((done) => (start = done)), memory);
  fill();
  const begun = [tell({ type: "ready", unsettled: [] }), say("one")];
  await settled();
  fill();
  begun.push(tell({ type: "ready", unsettled: [{ id: "1", text: "one" }] }));
  await settled();
  start();
  await Promise.all(begun);
  assert.equal(memory.size, 0);
});

test("what cannot be prepared to be sent comes back, and why is said", async () => {
  const { panel, fill, tell, say, input, sent, notes } = world();
  fill();
  await tell({ type: "ready", unsettled: [] });
  panel.composer.take = async () => Promise.reject(new Error("the editor is gone"));
  await say("one");
  await settled();
  assert.deepEqual([input(), sent, notes()], ["one", [], ["the editor is gone"]]);
});

test("what comes back while the page goes away is in the next one", async () => {
  const { panel, fill, tell, input, goAway } = world();
  fill();
  await tell({ type: "ready", unsettled: [] });
  goAway(true);
  panel.take({ text: "one", attachments: [] });
  await settled();
  goAway(false);
  fill();
  await tell({ type: "ready", unsettled: [] });
  await settled();
  assert.equal(input(), "one");
});

test("a page in another place of the window has what was being written", async () => {
  const { fill, tell, posted } = world();
  const drafts = () => posted.flatMap((message) => (message.type === "draft" ? [message.text] : []));
  fill();
  await tell({ type: "ready", unsettled: [] });
  assert.deepEqual(drafts(), []);
  await tell({ type: "draft", text: "half a sen" });
  fill();
  await Promise.all([tell({ type: "ready", unsettled: [] }), tell({ type: "draft", text: "remembered there" })]);
  assert.deepEqual(drafts(), ["half a sen"]);
});

test("what a closed tab had sent, and could not, is left for another page", async () => {
  let fail = (_: Error): void => undefined;
  const { panel, webview, fill, tell, say } = world({}, () => new Promise((_, reject) => (fail = reject)));
  fill();
  const begun = [tell({ type: "ready", unsettled: [] }), say("one")];
  await settled();
  panel.empty(webview);
  assert.deepEqual([panel.isDelivering, panel.takeUnsent()], [true, undefined]);
  let left: unknown;
  panel.onDelivered(() => (left = [panel.isDelivering, panel.takeUnsent()]));
  fail(new Error("no Python"));
  await Promise.all(begun);
  assert.deepEqual(left, [false, { text: "one", attachments: [] }]);
});

test("several messages that are not sent come back in their order, as when another conversation is chosen", async () => {
  const { panel, fill, tell, input } = world();
  fill();
  await tell({ type: "ready", unsettled: [] });
  for (const text of ["one", "", "two"]) panel.take({ text, attachments: [] });
  await settled();
  assert.equal(input("three"), "one\n\ntwo\n\nthree");
});

test("while another North has the conversation, or has not left it, nothing is sent or steered, and nothing lost", async () => {
  const { session, fill, tell, say, input, sent, notes } = world();
  fill();
  await tell({ type: "ready", unsettled: [] });
  const by = { client: "Neovim", pid: 7, leaving: false };
  session.elsewhereChanged({ sessionId: "s1", event: "open_elsewhere", by: { ...by, leaving: true } });
  await say("one", "steer");
  session.elsewhereChanged({ sessionId: "s1", event: "open_elsewhere", by });
  await say("two", "steer");
  await say("three");
  await settled();
  assert.deepEqual(sent, []);
  assert.deepEqual(input().split("\n\n").sort(), ["one", "three", "two"]);
  assert.deepEqual(notes().map((text) => text.split(/[ :]/, 3).join(" ")), ["What ran before", "This conversation is", "This conversation is"]);
});

test("Try Again sends the failed message with what went along with it, and leaves what is attached by now", async () => {
  const { panel, transcript, fill, tell, say, sent } = world();
  fill();
  await tell({ type: "ready", unsettled: [] });
  panel.composer.add(picture);
  await say("look");
  transcript.fail("not reached", "network");
  panel.composer.add({ label: "b.py", block: { type: "resource_link", uri: "file:///b.py", name: "b.py" } });
  await tell({ type: "failure", action: "again" });
  assert.deepEqual(sent, ["session/prompt look + image", "session/prompt look + image"]);
  assert.equal(panel.composer.isEmpty, false);
});

test("of messages that wait for two openings, those of the one that fails come back, and the others are sent: none both", async () => {
  const answered: ((result: object | Error) => void)[] = [];
  const opened = () => new Promise<object>((done, fail) => answered.push((result) => (result instanceof Error ? fail(result) : done(result))));
  const { session, fill, tell, say, input, sent } = world({ "session/new": opened });
  fill();
  const begun = [tell({ type: "ready", unsettled: [] }), say("one")];
  await settled();
  const renewed = session.renew();
  begun.push(say("two"));
  await settled();
  answered[0]?.({ sessionId: "s1" });
  await settled();
  assert.equal(input(), "one");
  answered[1]?.({ sessionId: "s2" });
  await Promise.all([...begun, renewed]);
  assert.deepEqual(sent, ["session/prompt two"]);
  assert.equal(input(), "one");
});

test("a message for a conversation that is left while it is prepared comes back, with what goes along", async () => {
  const { panel, session, fill, tell, say, input, sent } = world();
  fill();
  await tell({ type: "ready", unsettled: [] });
  const take = panel.composer.take.bind(panel.composer);
  panel.composer.add(picture);
  panel.composer.take = async () => {
    const taken = await take();
    await session.renew();
    return taken;
  };
  await say("one");
  await settled();
  assert.deepEqual([input(), sent, panel.composer.isEmpty], ["one", [], false]);
});

test("Try Again that cannot go, here or at all, leaves the input to what is being written there", async () => {
  let fails = false;
  const { session, transcript, fill, tell, say, input, sent } = world({}, async () => (fails ? Promise.reject(new Error("no Python")) : undefined));
  fill();
  await tell({ type: "ready", unsettled: [] });
  await say("look");
  transcript.fail("not reached", "network");
  session.elsewhereChanged({ sessionId: "s1", event: "open_elsewhere", by: { client: "Neovim", pid: 7, leaving: false } });
  await tell({ type: "failure", action: "again" });
  await session.leave();
  fails = true;
  await tell({ type: "failure", action: "again" });
  await settled();
  assert.deepEqual([input("draft"), sent], ["draft", ["session/prompt look"]]);
  assert.equal(session.problem, "no Python");
});

test("while North is started again after a failure, that is shown instead of the failure", async () => {
  let fail = (_: Error): void => undefined;
  const { fill, tell, say, posted } = world({}, () => new Promise((_, reject) => (fail = reject)));
  const shown = () => posted.flatMap((message) => (message.type === "state" ? [message.state] : [])).at(-1);
  fill();
  const begun = tell({ type: "ready", unsettled: [] });
  await settled();
  fail(new Error("no Python"));
  await begun;
  await settled();
  assert.deepEqual([shown()?.problem, shown()?.starting], ["no Python", undefined]);
  const again = say("one");
  await settled();
  assert.deepEqual([shown()?.problem, shown()?.starting?.text], ["", "North is starting…"]);
  fail(new Error("still none"));
  await again;
});

test("Try Again does not go back to the message that is being edited meanwhile", async () => {
  const rewound: unknown[] = [];
  const { transcript, fill, tell, say, sent } = world({ "_north/sessions/rewind": (params) => (rewound.push(params), { files: [], prompt: [{ type: "text", text: "first" }] }) });
  fill();
  await tell({ type: "ready", unsettled: [] });
  await say("look");
  transcript.fail("not reached", "network");
  await tell({ type: "prompt", entry: "e1", act: "edit" });
  await tell({ type: "failure", action: "again" });
  assert.equal(rewound.length, 1); // a look, for the edit
  assert.deepEqual(sent, ["session/prompt look", "session/prompt look"]);
});

test("with no turn that runs, words for it are a message: also one that takes the place of another", async () => {
  const { fill, tell, say, sent } = world({ "_north/sessions/rewind": () => ({ files: [], prompt: [{ type: "text", text: "first" }] }) });
  fill();
  await tell({ type: "ready", unsettled: [] });
  await tell({ type: "prompt", entry: "e1", act: "edit" });
  await say("better", "steer");
  assert.deepEqual(sent, ["session/prompt better"]);
});

test("whatever fails of what is done in the chat is said there", async () => {
  const { session, fill, tell, notes } = world();
  fill();
  await tell({ type: "ready", unsettled: [] });
  session.stop = async () => Promise.reject(new Error("the pipe is closed"));
  answers["north.showLog"] = () => Promise.reject(new Error("there is no log"));
  await tell({ type: "stop" });
  await tell({ type: "run", command: "north.showLog" });
  assert.deepEqual(notes(), ["the pipe is closed", "there is no log"]);
});
