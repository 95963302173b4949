/** What VS Code's chat shows of an answer: its text, and what North does meanwhile. Without the editor's API. */

import type { Update } from "../acp";

export interface Said {
  kind: "text" | "progress";
  text: string;
}

export class Telling {
  private readonly titles = new Map<string, string>();
  /** Something else came since the last piece of text. */
  private apart = false;
  private hasText = false;

  tell(update: Update): Said | undefined {
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
        return this.text(update.content.text ?? "");
      case "tool_call":
      case "tool_call_update": {
        this.apart = true;
        const title = update.title ?? "";
        if (title === "" || title.includes("…") || this.titles.get(update.toolCallId) === title) return undefined;
        this.titles.set(update.toolCallId, title);
        return { kind: "progress", text: title };
      }
      case "notice":
        this.apart = true;
        return { kind: "progress", text: update.title };
      default:
        return undefined;
    }
  }

  /** What is said after a call is a paragraph of its own. */
  private text(text: string): Said | undefined {
    if (text === "") return undefined;
    const gap = this.apart && this.hasText ? "\n\n" : "";
    this.apart = false;
    this.hasText = true;
    return { kind: "text", text: gap + text };
  }
}
