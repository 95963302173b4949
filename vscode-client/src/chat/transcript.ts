/** The conversation as rows to show. It outlives the page, which VS Code may throw away at any time. */

import * as vscode from "vscode";

import type { ToolCall, Update } from "../acp";
import type { Item, ToPage } from "../messages";

export class Transcript {
  private items = new Map<string, Item>();
  private made = 0;
  private readonly changed = new vscode.EventEmitter<ToPage>();

  readonly onChange = this.changed.event;

  all(): Item[] {
    return [...this.items.values()];
  }

  clear(): void {
    this.items = new Map();
    this.changed.fire({ type: "all", items: [] });
  }

  get(id: string): Item | undefined {
    return this.items.get(id);
  }

  put(item: Item): void {
    this.items.set(item.id, item);
    this.changed.fire({ type: "item", item });
  }

  say(text: string, attachment?: string): void {
    this.put({ kind: "user", id: this.newId(), text, ...(attachment ? { attachment } : {}) });
  }

  note(severity: "info" | "warning" | "error", text: string): void {
    this.put({ kind: "notice", id: this.newId(), severity, text });
  }

  /** What the server shows; kinds that are not known here are left out. */
  take(update: Update): void {
    switch (update.sessionUpdate) {
      case "user_message_chunk":
        return update.content.type === "image" ? this.sayPicture() : this.say(update.content.text ?? "");
      case "agent_message_chunk":
        return this.extend("answer", update.messageId ?? "", update.content.text ?? "");
      case "agent_thought_chunk":
        return this.extend("thought", update.messageId ?? "", update.content.text ?? "");
      case "tool_call":
      case "tool_call_update":
        return this.takeCall(update);
      case "notice":
        return this.put({ kind: "notice", id: this.newId(), severity: update.severity, text: update.title });
    }
  }

  /** A picture of the message before it, or of one that has no words. */
  private sayPicture(): void {
    const last = [...this.items.values()].at(-1);
    const picture = vscode.l10n.t("Picture");
    if (last?.kind !== "user") return this.say("", picture);
    this.put({ ...last, attachment: last.attachment === undefined ? picture : `${last.attachment} · ${picture}` });
  }

  /** A message goes on in its row, as long as nothing else came in between. */
  private extend(kind: "answer" | "thought", message: string, text: string): void {
    const last = [...this.items.values()].at(-1);
    const prefix = `${kind}:${message}:`;
    if (last?.kind === kind && last.id.startsWith(prefix)) {
      last.markdown += text;
      this.changed.fire({ type: "append", id: last.id, markdown: text });
    } else if (text !== "") {
      this.put({ kind, id: `${prefix}${this.newId()}`, markdown: text });
    }
  }

  private takeCall(call: ToolCall): void {
    const id = `tool:${call.toolCallId}`;
    const known = this.items.get(id);
    const before = known?.kind === "tool" ? known : undefined;
    const place = call.locations?.[0];
    const file = place?.path ?? before?.file;
    const line = place !== undefined ? place.line : before?.line;
    const status = call.status ?? before?.status ?? "pending";
    const retries = call._meta?.north?.retry !== undefined && status === "in_progress";
    this.put({
      kind: "tool",
      id,
      title: call.title ?? before?.title ?? "",
      status,
      ...(retries ? { retries } : {}),
      ...(file !== undefined ? { file } : {}),
      ...(line !== undefined && line !== null ? { line } : {}),
    });
  }

  private newId(): string {
    this.made += 1;
    return String(this.made);
  }
}
