import assert from "node:assert/strict";
import { test } from "node:test";

import type { PromptResult } from "../src/acp";
import { promptOf, Prompts } from "../src/chat/prompts";
import { Transcript } from "../src/chat/transcript";

const cancelled: PromptResult = { stopReason: "cancelled" };
/** Not part of the conversation. */
const unsent: PromptResult = { stopReason: "cancelled", _meta: { north: { unsent: true } } };

function world() {
  const transcript = new Transcript((path) => path);
  const prompts = new Prompts(transcript, () => undefined);
  const returned: string[] = [];
  prompts.onUnsent(({ text }) => returned.push(text));
  const shown = () => transcript.all().map((item) => ("text" in item ? item.text : item.kind));
  const send = (text: string) => prompts.add({ text, attachments: [] });
  return { prompts, transcript, returned, shown, send };
}

test("what the editor shows goes along with a prompt, where there is something", () => {
  const state = { visible: ["file:///a.py"], open: [], unsaved: [], recentEdits: [], problems: [] };
  const prompt = [{ type: "text", text: "hm" }];
  assert.deepEqual(promptOf({ text: "hm", attachments: [] }, undefined), { prompt, _meta: { north: { behavior: "followUp" } } });
  const north = { behavior: "followUp", editorState: state };
  assert.deepEqual(promptOf({ text: "hm", attachments: [] }, state), { prompt, _meta: { north } });
});

test("a prompt is shown where its turn begins", () => {
  const { prompts, shown, send } = world();
  const first = send("one");
  send("two");
  assert.deepEqual(shown(), ["one"]);
  prompts.ended(first, { stopReason: "end_turn" });
  prompts.remove(first);
  assert.deepEqual(shown(), ["one", "two"]);
});

test("after a stop, what waited is the user's again", () => {
  const { prompts, transcript, returned, shown, send } = world();
  const [first, second] = [send("one"), send("two")];
  transcript.began("e1");
  const queued = [{ id: "q", text: "steered" }];
  prompts.ended(second, unsent);
  prompts.remove(second);
  prompts.ended(first, { stopReason: "cancelled", _meta: { north: { queued } } });
  prompts.remove(first);
  assert.deepEqual(returned, ["two", "steered"]);
  assert.deepEqual(shown(), ["one", "Stopped."]);
  assert.equal(prompts.any, false);
});

test("a message that the server says was not sent is the user's again, whatever it begins with", () => {
  const { prompts, returned, send } = world();
  const texts = ["one", "/usr/lib/x.so crashes, why?", "/review this", "!make"];
  for (const text of texts) {
    const prompt = send(text);
    prompts.ended(prompt, unsent);
    prompts.remove(prompt);
  }
  assert.deepEqual(returned, texts);
});

test("a message that is stopped is in the conversation unless the server says otherwise, though its turn was not told of", () => {
  const { prompts, returned, shown, send } = world();
  for (const text of ["one", "/compact", "!make"]) {
    const prompt = send(text);
    prompts.ended(prompt, cancelled);
    prompts.remove(prompt);
  }
  assert.deepEqual(returned, []);
  assert.deepEqual(shown(), ["one", "Stopped.", "/compact", "Stopped.", "!make", "Stopped."]);
});

test("messages that share a turn are shown and not the user's again, whichever is answered first", () => {
  for (const answer of [cancelled, { stopReason: "end_turn" }]) {
    const { prompts, transcript, returned, shown, send } = world();
    const [first, second] = [send("one"), send("two")];
    transcript.began("e1");
    for (const prompt of [second, first]) {
      prompts.ended(prompt, answer);
      prompts.remove(prompt);
    }
    assert.deepEqual(returned, []);
    assert.deepEqual(shown(), answer === cancelled ? ["one", "two", "Stopped."] : ["one", "two"]);
  }
});

test("a message knows its turn, told before it is shown, or after", () => {
  const { prompts, transcript, returned, send } = world();
  const waited = [send("two"), send("three")];
  transcript.began("e2");
  transcript.ended();
  for (const prompt of waited) {
    if (prompt.text === "three") transcript.began("e3");
    prompts.ended(prompt, { stopReason: "end_turn" });
    prompts.remove(prompt);
  }
  assert.deepEqual(waited.map(({ isTaken }) => isTaken), [true, true]);
  assert.deepEqual(returned, []);
});

test("a message that the user removed stays removed, though its turn seems to come meanwhile", async () => {
  const ends = [
    { answer: Promise.resolve(unsent), isCurrent: true },
    { answer: Promise.resolve(unsent), isCurrent: false },
    { answer: Promise.reject(new Error("open elsewhere")), isCurrent: true },
  ];
  for (const { answer, isCurrent } of ends) {
    const { prompts, returned, shown, send } = world();
    const [first, second] = [send("one"), send("two")];
    prompts.withdraw("two", false);
    prompts.remove(first); // it is answered at this moment
    await prompts.settle(second, answer, () => isCurrent);
    assert.deepEqual(returned, []);
    assert.equal(shown().includes("two"), false);
    assert.equal(prompts.any, false);
  }
});

test("a message that could not be removed any more is shown: its turn has begun", () => {
  const { prompts, transcript, shown, send } = world();
  const [first, second] = [send("one"), send("two")];
  transcript.began("e1");
  const undo = prompts.withdraw("two", false);
  prompts.remove(first);
  transcript.began("e2");
  assert.deepEqual(shown(), ["one"]);
  undo();
  assert.deepEqual([shown(), second.isTaken], [["one", "two"], true]);
});

test("what the server did not send is told in whichever answer comes first, also in that of a message that was removed", () => {
  const { prompts, returned, send } = world();
  send("one");
  const second = send("two");
  prompts.withdraw("two", false);
  prompts.ended(second, { stopReason: "cancelled", _meta: { north: { unsent: true, queued: [{ id: "q", text: "three" }] } } });
  assert.deepEqual(returned, ["three"]);
});

test("what is restored anyway is not restored twice", () => {
  const { prompts, returned } = world();
  const queued = [{ id: "1", text: "known" }, { id: "2", text: "other" }];
  prompts.takeUnsent({ _meta: { north: { queued } } }, [{ text: "known", attachments: [] }]);
  assert.deepEqual(returned, ["other"]);
});

test("another end than the usual one is said in a line of its own", () => {
  const { prompts, shown, send } = world();
  prompts.ended(send("one"), { stopReason: "max_tokens" });
  assert.deepEqual(shown(), ["one", "The turn ended early: max_tokens."]);
});

test("a key that is missing is a failure with a way out; what else is refused is an error", () => {
  const { prompts, shown, send } = world();
  const one = send("one");
  prompts.refused(one, Object.assign(new Error("no key"), { code: -32000 }));
  prompts.refused(one, new Error("open elsewhere"));
  assert.deepEqual(shown(), ["one", "no key", "open elsewhere"]);
});

test("what is refused before it is shown is the user's again, but for what they have removed", async () => {
  const { prompts, returned, shown, send } = world();
  send("one");
  const [two, three] = [send("two"), send("three")];
  prompts.withdraw("three", false);
  for (const prompt of [two, three]) await prompts.settle(prompt, Promise.reject(new Error("open elsewhere")), () => true);
  assert.deepEqual(returned, ["two"]);
  assert.deepEqual(shown(), ["one", "open elsewhere", "open elsewhere"]);
});

test("what was sent last is known with what went along, as long as it is shown", () => {
  const transcript = new Transcript();
  const prompts = new Prompts(transcript, () => undefined);
  assert.equal(prompts.shown, undefined);
  const link = { label: "a.py", block: { type: "resource_link" as const, uri: "file:///a.py", name: "a.py" } };
  prompts.add({ text: "one", attachments: [link] });
  transcript.say("words for the turn");
  assert.deepEqual(prompts.shown, { text: "one", attachments: [link] });
  transcript.clear();
  transcript.say("loaded");
  assert.deepEqual(prompts.shown, { text: "loaded", attachments: [] });
});

test("what kind of failure it was is told to its row", () => {
  const transcript = new Transcript();
  const prompts = new Prompts(transcript, () => undefined);
  const prompt = prompts.add({ text: "one", attachments: [] });
  transcript.fail("not reached", "");
  prompts.ended(prompt, { stopReason: "end_turn", _meta: { north: { error: { kind: "network" } } } });
  const failure = transcript.all().at(-1);
  assert.deepEqual(failure?.kind === "failure" && failure.actions, ["again", "switchModel"]);
});

test("what is sent again and edited while it waits goes into the input, unless that failed", async () => {
  for (const isUndone of [false, true]) {
    const { prompts, returned, send } = world();
    send("one");
    const again = prompts.add({ text: "again", attachments: [], isShown: true });
    const undo = prompts.withdraw("again", true);
    if (isUndone) undo();
    await prompts.settle(again, Promise.resolve(unsent), () => true);
    assert.deepEqual(returned, isUndone ? [] : ["again"]);
  }
});
