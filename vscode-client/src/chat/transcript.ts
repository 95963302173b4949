/** The conversation as rows to show. It outlives the page, which VS Code may throw away at any time. */

import * as vscode from "vscode";

import type { Diff, PlanRow, ToolCall, Update } from "../acp";
import type { FailureAction, Item, ToPage } from "../messages";
import { callAfter, retryAfter, type CallTexts } from "./calls";
import { summaryAfter } from "./summaries";
import { titleOf } from "./titles";

const STOPPED = "stopped:";

export class Transcript {
  private items = new Map<string, Item>();
  private last: Item | undefined;
  /** The texts of what was changed: too much for the page. */
  private readonly diffs = new Map<string, Diff[]>();
  private made = 0;
  /** The rows of what the user said before, by message. */
  private readonly prompts = new Map<string, string>();
  /** The entry of a message that is shown in a moment. */
  private entryToCome: string | undefined;
  /** The row of a wait that others may follow. */
  private waits = new Map<string, string>();
  private readonly changed = new vscode.EventEmitter<ToPage>();

  readonly onChange = this.changed.event;

  /** `nameOf`: what is shown of an absolute path. */
  constructor(private readonly nameOf: (path: string) => string = (path) => path) {}

  all(): Item[] {
    return [...this.items.values()];
  }

  /** What is still asked stays, so that it can be decided: it may be of another conversation, as one of VS Code's chat. */
  clear(): void {
    const asked = this.all().filter((item) => "options" in item && item.decision === undefined);
    this.items = new Map(asked.map((item) => [item.id, item]));
    this.last = asked.at(-1);
    this.diffs.clear();
    this.prompts.clear();
    this.entryToCome = undefined;
    this.waits.clear();
    this.changed.fire({ type: "all", items: asked });
  }

  get(id: string): Item | undefined {
    return this.items.get(id);
  }

  /** The words that the user said last. */
  lastPrompt(): string | undefined {
    return this.all().findLast((item) => item.kind === "user")?.text;
  }

  /** The texts that a call changed, by the place among its parts. */
  diff(id: string, part: number): Diff | undefined {
    const item = this.items.get(id);
    if (item?.kind !== "tool" || item.parts[part]?.kind !== "diff") return undefined;
    const before = item.parts.slice(0, part).filter((other) => other.kind === "diff").length;
    return this.diffs.get(id)?.[before];
  }

  put(item: Item): void {
    if (!this.items.has(item.id) || this.last?.id === item.id) this.last = item;
    this.items.set(item.id, item);
    this.changed.fire({ type: "item", item });
  }

  /** Puts rows at the end of the turns that these messages began, of a conversation that was loaded. */
  putAtEnds(rows: ReadonlyMap<string, Item>): void {
    const waiting = new Map([...rows].map(([message, item]) => [this.prompts.get(message), item]));
    const all: Item[] = [];
    let ending: Item | undefined;
    for (const item of this.items.values()) {
      if (rows.size > 0 && [...rows.values()].some((row) => row.id === item.id)) continue;
      if (item.kind === "user") {
        if (ending !== undefined) all.push(ending);
        ending = waiting.get(item.id);
      }
      all.push(item);
    }
    if (ending !== undefined) all.push(ending);
    this.items = new Map(all.map((item) => [item.id, item]));
    this.last = all.at(-1);
    this.changed.fire({ type: "all", items: all });
  }

  /** Says beside a call what became of its edit since. */
  mark(call: string, note: string): void {
    const item = this.items.get(`tool:${call}`);
    if (item?.kind === "tool" && (item.note ?? "") !== note) this.put({ ...item, note });
  }

  say(text: string, attachment?: string, entry = this.entryToCome): string {
    this.entryToCome = undefined;
    const id = this.newId();
    this.put({ kind: "user", id, text, ...(attachment ? { attachment } : {}), ...(entry === undefined ? {} : { entry }) });
    return id;
  }

  /** The turn of what the user said last has begun: now it is an entry. What was said next may not be shown yet. */
  began(entry: string): void {
    const said = this.all().findLast((item) => item.kind === "user");
    if (said === undefined || (said.entry !== undefined && said.entry !== entry)) this.entryToCome = entry;
    else if (said.entry === undefined) this.put({ ...said, entry });
  }

  /** What was not shown by then is not shown. */
  ended(): void {
    this.entryToCome = undefined;
  }

  /** Whether it shows a message of the user's that is this entry. */
  has(entry: string): boolean {
    return this.all().some((item) => item.kind === "user" && item.entry === entry);
  }

  note(severity: "info" | "warning" | "error", text: string): void {
    this.put({ kind: "notice", id: this.newId(), severity, text });
  }

  /** The user has stopped the turn, which the server tells, too. */
  stopped(): void {
    if (this.last?.id.startsWith(STOPPED) === true) return;
    this.put({ kind: "notice", id: `${STOPPED}${this.newId()}`, severity: "info", text: vscode.l10n.t("Stopped.") });
  }

  /** The model gave no answer, or none that is complete. */
  fail(text: string, kind: string): void {
    this.put({ kind: "failure", id: this.newId(), text, actions: actionsFor(kind) });
  }

  /** What kind of failure the last one was, told when its turn has ended. */
  classify(kind: string): void {
    const { last } = this;
    if (last?.kind === "failure") this.put({ ...last, actions: actionsFor(kind) });
  }

  /** What the server shows; kinds that are not known here are left out. */
  take(update: Update): void {
    switch (update.sessionUpdate) {
      case "user_message_chunk":
        if (update.content.type === "image") return this.sayPicture(update.messageId);
        this.say(update.content.text ?? "", undefined, update.messageId);
        if (update.messageId !== undefined && this.last !== undefined) this.prompts.set(update.messageId, this.last.id);
        return;
      case "agent_message_chunk": {
        const failure = update._meta?.north?.failure;
        if (failure !== undefined) return this.fail(failure.text, failure.kind ?? "");
        return this.extend("answer", update.messageId ?? "", update.content.text ?? "");
      }
      case "agent_thought_chunk":
        return this.extend("thought", update.messageId ?? "", update.content.text ?? "");
      case "tool_call":
      case "tool_call_update":
        return update._meta?.north?.retry === undefined ? this.takeCall(update) : this.takeRetry(update);
      case "plan":
        // A todo list is pinned above the input, and stays as it is then.
        return update._meta?.north?.phases === undefined ? this.takePlan(update.entries) : undefined;
      case "compaction_update": {
        const before = this.items.get(`summary:${update.compactionId}`);
        return this.put(summaryAfter(before?.kind === "summary" ? before : undefined, update));
      }
      case "notice":
        if (update._meta?.north?.stopped === true) return this.stopped();
        return this.put({ kind: "notice", id: this.newId(), severity: update.severity, text: update.title });
    }
  }

  /** A picture of the message before it, or of one that has no words. */
  private sayPicture(entry: string | undefined): void {
    const { last } = this;
    const picture = vscode.l10n.t("Picture");
    if (last?.kind !== "user") return void this.say("", picture, entry);
    this.put({ ...last, attachment: last.attachment === undefined ? picture : `${last.attachment} · ${picture}` });
  }

  /** A message goes on in its row, as long as nothing else came in between. */
  private extend(kind: "answer" | "thought", message: string, text: string): void {
    const { last } = this;
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
    const before = this.items.get(id);
    if (call.content) {
      const diffs = call.content.filter((content) => content.type === "diff");
      this.diffs.set(id, diffs);
    }
    this.put(callAfter(before?.kind === "tool" ? before : undefined, call, this.words()));
  }

  private takeRetry(call: ToolCall): void {
    const known = this.waits.get(call.toolCallId);
    const id = known ?? (this.last?.kind === "retry" ? this.last.id : `retry:${this.newId()}`);
    this.waits.set(call.toolCallId, id);
    const before = this.items.get(id);
    this.put({ ...retryAfter(before?.kind === "retry" ? before : undefined, call, known === undefined), id });
  }

  /** One plan a turn, changed where it stands. */
  private takePlan(rows: PlanRow[]): void {
    const entries = rows.map(({ content, status = "pending" }) => ({ text: content, status }));
    const all = this.all();
    const turn = all.slice(all.findLastIndex((item) => item.kind === "user") + 1);
    const id = turn.find((item) => item.kind === "plan")?.id ?? `plan:${this.newId()}`;
    this.put({ kind: "plan", id, entries });
  }

  private words(): CallTexts {
    return {
      nameOf: this.nameOf,
      titleOf,
      shortened: (shown, total) => vscode.l10n.t("The model got {0} of {1} lines.", shown, total),
      left: (count) => vscode.l10n.t("({0} characters before this are not shown)", count),
    };
  }

  private newId(): string {
    this.made += 1;
    return String(this.made);
  }
}

function actionsFor(kind: string): FailureAction[] {
  switch (kind) {
    case "auth":
    case "quota_exhausted":
      return ["storeKey", "switchModel", "again"];
    case "aborted":
      return ["again"];
    case "":
      return ["again", "storeKey", "switchModel"];
    default:
      return ["again", "switchModel"];
  }
}
