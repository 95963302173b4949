import assert from "node:assert/strict";
import { test } from "node:test";

import type { Update } from "../src/acp";
import { ChatParts } from "../src/places/chatParts";

const chunk = (text: string): Update => ({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
const call = (title: string): Update => ({ sessionUpdate: "tool_call_update", toolCallId: "1", title });

test("text goes on as it comes, and begins anew after a call", () => {
  const telling = new ChatParts();
  const said = [chunk("Hel"), chunk("lo."), call("Reading a.py"), chunk("So"), chunk(" it is.")].map((update) => telling.partOf(update)?.text);
  assert.deepEqual(said, ["Hel", "lo.", "Reading a.py", "\n\nSo", " it is."]);
});

test("a call is told once for each of its titles, and not before it has one", () => {
  const telling = new ChatParts();
  const said = [call(""), call("Reading …"), call("Reading a.py"), call("Reading a.py"), call("Reading a.py - 3 lines")];
  assert.deepEqual(said.map((update) => telling.partOf(update)?.text), [undefined, undefined, "Reading a.py", undefined, "Reading a.py - 3 lines"]);
});

test("nothing is put before the first text, and thoughts are not told", () => {
  const telling = new ChatParts();
  telling.partOf(call("Reading a.py"));
  assert.equal(telling.partOf({ sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "hm" } }), undefined);
  assert.deepEqual(telling.partOf(chunk("Hello")), { kind: "text", text: "Hello" });
  assert.equal(telling.partOf(chunk("")), undefined);
});

test("a wait before the model is asked again is told once, whatever its reason says, and is no progress of a call", () => {
  const telling = new ChatParts();
  const wait = (seconds: number): Update => ({ ...call(`Trying again in ${seconds} s (1 of 3): one moment…`), status: "in_progress", _meta: { north: { retry: { attempt: 1 } } } }) as Update;
  assert.deepEqual(telling.partOf(wait(3)), { kind: "wait", text: "Trying again in 3 s (1 of 3): one moment…" });
  assert.equal(telling.partOf(wait(2)), undefined);
  assert.deepEqual(telling.partOf(call("Reading a.py")), { kind: "progress", text: "Reading a.py" });
});
