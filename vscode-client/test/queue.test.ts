import { div, said } from "./support/page";

import assert from "node:assert/strict";
import { test } from "node:test";

import { Prompts } from "../src/chat/prompts";
import { findSent, Queue } from "../src/chat/queue";
import { Transcript } from "../src/chat/transcript";
import type { QueuedRow, State } from "../src/messages";

const content = (text: string) => ({ text, attachments: [] });
const unsent = { stopReason: "cancelled", _meta: { north: { unsent: true } } };
const row = (text: string) => ({ id: text, text });

/** A conversation with a turn that runs, and messages that wait. */
function world(...waiting: string[]) {
  const asked: [string, object][] = [];
  const returned: string[] = [];
  const transcript = new Transcript();
  const prompts = new Prompts(transcript, () => undefined);
  prompts.onUnsent(({ text }) => returned.push(text));
  const all = ["first", ...waiting].map((text) => prompts.add(content(text)));
  const ask = async <Result>(method: string, params: object): Promise<Result> => {
    asked.push([method, params]);
    const { id, position } = params as { id: string; position: number };
    const rest = waiting.filter((text) => text !== id);
    return { followUp: [...rest.slice(0, position), id, ...rest.slice(position)].map(row) } as Result;
  };
  const queue = new Queue(prompts, ask, () => undefined);
  queue.take({ steer: [], followUp: waiting.map(row) });
  return { queue, prompts, transcript, asked, returned, all };
}

test("until the server tells, what was sent is there and can only wait", () => {
  const { prompts } = world("two");
  const queue = new Queue(prompts, () => Promise.reject(new Error("no")), () => undefined);
  assert.deepEqual(queue.rows, [{ id: "", text: "two", steers: false }]);
  queue.take({ steer: [row("now")], followUp: [row("two")] });
  assert.deepEqual(queue.rows.map(({ text, steers }) => [text, steers]), [["now", true], ["two", false]]);
});

test("one that is taken back to be edited comes into the input, a removed one does not", async () => {
  const { queue, prompts, asked, returned, all } = world("two", "three");
  await queue.act("two", "edit");
  await queue.act("three", "remove");
  assert.deepEqual(asked.map(([method]) => method), ["_north/queue/withdraw", "_north/queue/withdraw"]);
  for (const prompt of all.slice(1)) prompts.ended(prompt, unsent);
  assert.deepEqual(returned, ["two"]);
});

test("what cannot be taken back any more is told, and is not lost", async () => {
  const { prompts, returned, all } = world("two");
  const queue = new Queue(prompts, () => Promise.reject(new Error("it has begun")), () => undefined);
  queue.take({ followUp: [row("two")] });
  await assert.rejects(queue.act("two", "remove"), /it has begun/);
  const [, two] = all;
  assert.ok(two);
  prompts.ended(two, unsent);
  assert.deepEqual(returned, ["two"]);
});

test("the next one is the one that the user has put there", async () => {
  const { queue, prompts, transcript, asked, all } = world("two", "three", "four");
  await queue.act("four", "earlier");
  await queue.act("two", "earlier"); // it is the first one already
  assert.deepEqual(asked, [["_north/queue/edit", { id: "four", position: 1 }]]);
  assert.deepEqual(prompts.waiting.map(({ text }) => text), ["two", "four", "three"]);
  for (const index of [0, 1]) prompts.remove(all[index] ?? assert.fail());
  assert.deepEqual(transcript.all().map((item) => item.kind === "user" && item.text), ["first", "two", "four"]);
});

test("words for the turn that were taken back are not sent in another way", async () => {
  const { queue, prompts, returned } = world();
  queue.take({ steer: [row("quick"), row("slow")], followUp: [] });
  await queue.act("quick", "edit");
  await queue.act("slow", "remove");
  assert.deepEqual([prompts.wasWithdrawn(content("quick")), prompts.wasWithdrawn(content("slow")), prompts.wasWithdrawn(content("quick"))], [true, true, false]);
  assert.deepEqual(returned, ["quick"]);
});

test("the server's text has what is attached behind the words", () => {
  const prompts = [content(""), content("Fix"), content("Fix it")];
  assert.equal(findSent(prompts, "Fix it\n\n[a.py]")?.text, "Fix it");
  assert.equal(findSent(prompts, "Fix\n\n[a.py]")?.text, "Fix");
  assert.equal(findSent(prompts, "[a.py]")?.text, "");
  assert.equal(findSent(prompts.slice(1), "other"), undefined);
});

test("each has its buttons; the first one cannot be sent earlier, nor the last one later", async () => {
  const view = document.defaultView as Window & typeof globalThis;
  for (const id of ["queue", "input"]) {
    const made = div();
    made.id = id;
    document.body.append(made);
  }
  const { showState } = await import("../src/webview/queue");
  const queued: QueuedRow[] = [{ id: "s", text: "now", steers: true }, { id: "a", text: "one", steers: false }, { id: "b", text: "two", steers: false }, { id: "", text: "x", steers: false }];
  showState({ queued } as unknown as State);
  const names = [...document.querySelectorAll("#queue li")].map((line) => [...line.querySelectorAll("button")].map((one) => one.title.split(":")[0]));
  assert.deepEqual(names, [["Edit", "Remove"], ["Send later", "Edit", "Remove"], ["Send earlier", "Send later", "Edit", "Remove"], []]);
  document.querySelector("#queue li:nth-child(3) button")?.dispatchEvent(new view.Event("click"));
  assert.deepEqual(said.pop(), { type: "queue", id: "b", act: "earlier" });
});
