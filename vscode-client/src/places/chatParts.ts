/** What VS Code's chat shows of an answer: its text, and what North does meanwhile. Without the editor's API. */

import type { Update } from "../acp";

export interface ChatPart {
  kind: "text" | "progress";
  text: string;
}

export class ChatParts {
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
