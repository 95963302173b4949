/** Updates of a conversation as `fake-north-lsp` plays them: one line each. */

export const says = (text) => ({ sessionUpdate: "agent_message_chunk", messageId: "m", content: { type: "text", text } });
export const thinks = (text) => ({ ...says(text), sessionUpdate: "agent_thought_chunk" });
export const called = (toolCallId, more) => ({ sessionUpdate: "tool_call_update", toolCallId, ...more });
export const text = (text) => [{ type: "content", content: { type: "text", text } }];
export const diffOf = (path, oldText, newText) => ({ type: "diff", path, oldText, newText });
export const plans = (...entries) => ({ sessionUpdate: "plan", entries: entries.map(([content, status]) => ({ content, status, priority: "medium" })) });
export const notes = (severity, title) => ({ sessionUpdate: "notice", severity, title });

export const waits = (seconds, attempt, status = "in_progress") =>
  called("retry-1", {
    title: `Trying again in ${seconds} s (${attempt} of 5): Anthropic answered 529: overloaded`,
    status,
    _meta: { north: { retry: { attempt, maxAttempts: 5, remainingMs: seconds * 1000 } } },
  });

export const failed = (reason) => ({ ...says(`**The request failed:** ${reason}`), _meta: { north: { failure: { text: reason } } } });

/** Text in pieces as a model sends them, with pauses in milliseconds. */
export const streamed = (whole, size, pause) => whole.match(new RegExp(`[^]{1,${size}}`, "g")).flatMap((piece) => [says(piece), pause]);
