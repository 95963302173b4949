import assert from "node:assert/strict";
import { test } from "node:test";

import { Transcript } from "../src/chat/transcript";
import type { ChangesItem, Item } from "../src/messages";

const changes = (id: string): ChangesItem => ({ kind: "changes", id, text: "", note: "", files: [], buttons: [] });
const said = (messageId: string, text: string) => ({ sessionUpdate: "user_message_chunk", messageId, content: { type: "text", text } }) as const;
const answered = (text: string) => ({ sessionUpdate: "agent_message_chunk", messageId: text, content: { type: "text", text } }) as const;
const kinds = (transcript: Transcript): string[] => transcript.all().map((item: Item) => (item.kind === "changes" ? item.id : item.kind));

test("the rows of turns stand at the ends of their turns when a conversation is loaded", () => {
  const transcript = new Transcript();
  for (const update of [said("m1", "one"), answered("a"), said("m2", "two"), answered("b"), said("m3", "three"), answered("c")]) transcript.take(update);
  const rows = new Map([
    ["m1", changes("c1")],
    ["m3", changes("c3")],
    ["m9", changes("c9")],
  ]);
  transcript.putAtEnds(rows);
  const expected = ["user", "answer", "c1", "user", "answer", "user", "answer", "c3"];
  assert.deepEqual(kinds(transcript), expected);
  transcript.putAtEnds(rows);
  assert.deepEqual(kinds(transcript), expected);
});

test("a call says what became of its edit", () => {
  const transcript = new Transcript();
  transcript.take({ sessionUpdate: "tool_call", toolCallId: "t1", title: "Editing", status: "completed" });
  transcript.mark("t1", "undone");
  transcript.mark("t2", "undone");
  const [item] = transcript.all();
  assert.ok(item?.kind === "tool");
  assert.equal(item.note, "undone");
});
