/** What VS Code's chat shows of an answer: its text, and what North does meanwhile. Without the editor's API. */

import type { Update } from "../acp";

export interface ChatPart {
  /** A wait before the model is asked again can be ended. */
  kind: "text" | "progress" | "wait";
  text: string;
}

/** Of each wait once: it counts down. */
export class Waits {
  private readonly told = new Set<string>();

  /** In the server's words: for how long, and why. Empty once such a wait is over. */
  wordsOf(update: Update): string | undefined {
    if (update.sessionUpdate !== "tool_call" && update.sessionUpdate !== "tool_call_update") return undefined;
    const retry = update._meta?.north?.retry;
    const wait = `${update.toolCallId} ${retry?.attempt ?? ""}`;
    if (retry === undefined) return undefined;
    if (update.status !== "in_progress") return this.told.delete(wait) ? "" : undefined;
    if (this.told.has(wait)) return undefined;
    this.told.add(wait);
    return update.title ?? undefined;
  }
}

export class ChatParts {
  private readonly waits = new Waits();
  private readonly titles = new Map<string, string>();
  /** Something else came since the last piece of text. */
  private isInterrupted = false;
  private hasText = false;

  partOf(update: Update): ChatPart | undefined {
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
        return this.text(update.content.text ?? "");
      case "tool_call":
      case "tool_call_update": {
        this.isInterrupted = true;
        if (update._meta?.north?.retry !== undefined) {
          const text = this.waits.wordsOf(update);
          return text === undefined || text === "" ? undefined : { kind: "wait", text };
        }
        const title = update.title ?? "";
        if (title === "" || title.includes("…") || this.titles.get(update.toolCallId) === title) return undefined;
        this.titles.set(update.toolCallId, title);
        return { kind: "progress", text: title };
      }
      case "notice":
        this.isInterrupted = true;
        return { kind: "progress", text: update.title };
      default:
        return undefined;
    }
  }

  /** What is said after a call is a paragraph of its own. */
  private text(text: string): ChatPart | undefined {
    if (text === "") return undefined;
    const gap = this.isInterrupted && this.hasText ? "\n\n" : "";
    this.isInterrupted = false;
    this.hasText = true;
    return { kind: "text", text: gap + text };
  }
}
