import assert from "node:assert/strict";
import { test } from "node:test";

import { Prompts } from "../src/chat/prompts";
import { Transcript } from "../src/chat/transcript";

function world() {
  const transcript = new Transcript((path) => path);
  const prompts = new Prompts(transcript, () => undefined);
  const returned: string[] = [];
  prompts.onReturn(({ text }) => returned.push(text));
  const shown = () => transcript.all().map((item) => ("text" in item ? item.text : item.kind));
  const send = (text: string) => prompts.add({ text, attachments: [] });
  return { prompts, returned, shown, send };
}

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
  const { prompts, returned, shown, send } = world();
  const [first, second] = [send("one"), send("two")];
  const queued = [{ id: "q", text: "steered" }];
  prompts.ended(second, { stopReason: "cancelled" });
  prompts.remove(second);
  prompts.ended(first, { stopReason: "cancelled", _meta: { north: { queued } } });
  prompts.remove(first);
  assert.deepEqual(returned, ["two", "steered"]);
  assert.deepEqual(shown(), ["one", "Stopped."]);
  assert.equal(prompts.any, false);
});

test("what the user gets back anyway is not given back twice", () => {
  const { prompts, returned } = world();
  const queued = [{ id: "1", text: "known" }, { id: "2", text: "other" }];
  prompts.giveBackUnsent({ _meta: { north: { queued } } }, [{ text: "known", attachments: [] }]);
  assert.deepEqual(returned, ["other"]);
});

test("another end than the usual one is said in a line of its own", () => {
  const { prompts, shown, send } = world();
  prompts.ended(send("one"), { stopReason: "max_tokens" });
  assert.deepEqual(shown(), ["one", "The turn ended early: max_tokens."]);
});
