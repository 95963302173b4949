import assert from "node:assert/strict";
import { test } from "node:test";

import type { Update } from "../src/acp";
import { readable } from "../src/chat/readable";
import { Transcript } from "../src/chat/transcript";

const update = (status: "in_progress" | "completed" | "failed" | "cancelled", more: object = {}): Update => ({ sessionUpdate: "compaction_update", compactionId: "c", status, ...more });
const done = update("completed", { summary: [{ type: "text", text: "## Goal" }], _meta: { north: { tokensBefore: 90_000, tokensAfter: 12_000, read: ["a.py"], modified: ["b.py"] } } });

function after(...updates: Update[]): Transcript {
  const transcript = new Transcript();
  for (const one of updates) transcript.take(one);
  return transcript;
}

test("a summary is one row, from its beginning to its end", () => {
  const transcript = after(update("in_progress"), update("in_progress", { _meta: { north: { written: 1200 } } }), done);
  const [row, ...more] = transcript.all();
  assert.deepEqual(more, []);
  assert.deepEqual(row, { kind: "summary", id: "summary:c", compaction: "c", state: "completed", text: "The conversation up to here was summarized: 90,000 → 12,000 tokens", markdown: "## Goal", files: ["a.py (read)", "b.py (changed)"] });
  assert.match(readable(transcript.all()).text, /summarized: 90,000 → 12,000 tokens:\n## Goal/);
});

test("the row says how far it has come, and why there is no summary", () => {
  const texts = [update("in_progress", { _meta: { north: { written: 1200 } } }), update("failed", { error: "compaction did not succeed: no key" }), update("cancelled")].map((one) => {
    const [row] = after(one).all();
    return row?.kind === "summary" ? row.text : "";
  });
  assert.deepEqual(texts, [
    "The older part of this conversation is being summarized (1,200 characters so far)",
    "compaction did not succeed: no key",
    "Summarizing was cancelled; the conversation is unchanged",
  ]);
});
