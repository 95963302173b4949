/** What was sent and is not answered yet: the first one is being worked on, the others wait. */

import * as vscode from "vscode";

import type { PromptResult, Unsent } from "../acp";
import { reason } from "../common/logger";
import { type Attachment, blocksOf, labelsOf } from "../composer/chips";
import type { Item } from "../messages";
import type { EditorState } from "./editorState";
import { findSent } from "./queue";
import type { Transcript } from "./transcript";

/** What the user wrote. */
export interface PromptContent {
  text: string;
  attachments: readonly Attachment[];
  /** The conversation shows it: it is never put into the input. */
  isShown?: boolean;
}

export interface Prompt extends PromptContent {
  /** Its turn has come: it is part of the conversation. */
  begun: boolean;
  /** The row that shows it. */
  row?: string;
  /** Its turn has begun in the server, by which it is an entry. */
  isTaken?: boolean;
  /** The user has taken it back, for good. */
  isRemoved?: boolean;
  /** The user has it again. */
  isReturned?: boolean;
}

/** Commands that lead to another conversation, or out of this one. */
const LEADING = /^\s*\/(?:continue|handoff|new|quit|resume)\b/;

export class Prompts implements vscode.Disposable {
  private sent: Prompt[] = [];
  /** What began last, and its row. */
  private last: { content: PromptContent; row: string } | undefined;
  /** Words for the turn that runs that the user has taken back, and whether to edit them. */
  private readonly steering = new Map<string, boolean>();
  private readonly unsentEmitter = new vscode.EventEmitter<PromptContent>();
  private readonly listener: vscode.Disposable;

  /** What was not sent belongs to the user again. */
  readonly onUnsent = this.unsentEmitter.event;

  constructor(
    private readonly transcript: Transcript,
    private readonly changed: () => void,
  ) {
    this.listener = transcript.onChange((message) => message.type === "item" && this.noteEntry(message.item));
  }

  dispose(): void {
    vscode.Disposable.from(this.listener, this.unsentEmitter).dispose();
  }

  get any(): boolean {
    return this.sent.length > 0;
  }

  /** A command that leads to another conversation is not answered yet. */
  get isLeading(): boolean {
    return this.sent.some(({ text }) => LEADING.test(text));
  }

  get waiting(): Prompt[] {
    return this.sent.slice(1);
  }

  /** Those that the server does not have as a part of the conversation, as far as is known. */
  get untaken(): Prompt[] {
    return this.sent.filter((prompt) => prompt.isRemoved !== true && prompt.isTaken !== true);
  }

  /** What the user has sent last that is shown; only its words if it was sent before this window knew the conversation. */
  get shown(): PromptContent | undefined {
    if (this.last !== undefined && this.transcript.get(this.last.row) !== undefined) return this.last.content;
    const text = this.transcript.lastPrompt();
    return text === undefined ? undefined : { text, attachments: [] };
  }

  add(content: PromptContent): Prompt {
    const prompt = { ...content, begun: false };
    this.sent.push(prompt);
    this.beginNext();
    return prompt;
  }

  /** A turn that goes on: its prompt is part of the conversation. */
  goOn(): Prompt {
    const prompt = { text: "", attachments: [], begun: true, isTaken: true };
    this.sent.unshift(prompt);
    this.changed();
    return prompt;
  }

  /** Waits for the answer to a prompt; `counts` tells whether it is still about this conversation. */
  async settle(prompt: Prompt, answer: Promise<PromptResult>, counts: (failed: boolean) => boolean): Promise<void> {
    try {
      const result = await answer;
      if (counts(false)) this.ended(prompt, result);
      else if (isUnsent(result)) this.giveBack(prompt); // it was given up with its conversation
    } catch (error) {
      if (counts(true)) this.refused(prompt, error);
    }
    this.remove(prompt);
  }

  /** The user takes one back that waits, into the input (`edits`) or for good. Returns what undoes it. */
  withdraw(text: string, edits: boolean): () => void {
    const prompt = findSent(this.waiting, text);
    if (prompt === undefined) {
      this.steering.set(text, edits);
      return () => this.steering.delete(text);
    }
    const { isShown } = prompt;
    prompt.isRemoved = !edits;
    if (edits) prompt.isShown = false; // what is edited goes into the input, though the conversation shows what it was
    return () => {
      Object.assign(prompt, { isRemoved: false, isShown });
      this.beginNext();
    };
  }

  /** Whether the user has taken back words for the turn that runs; those to edit go into the input. */
  wasWithdrawn(content: PromptContent): boolean {
    const text = [...this.steering.keys()].find((told) => findSent([content], told) !== undefined);
    if (text === undefined) return false;
    if (this.steering.get(text) === true) this.restoreUnsent(content);
    return this.steering.delete(text);
  }

  /** The user has changed the order of those that wait; the server tells their texts. */
  order(texts: readonly string[]): void {
    const rest = [...this.waiting];
    const ordered = texts.flatMap((text) => {
      const prompt = findSent(rest, text);
      if (prompt === undefined) return [];
      rest.splice(rest.indexOf(prompt), 1);
      return [prompt];
    });
    this.sent = [...this.sent.slice(0, 1), ...ordered, ...rest];
    this.changed();
  }

  /** The conversation is left: what waits is the user's again. What has begun may be a part of it, or have been run: that is told
   * by the answer. */
  giveBackWaiting(): void {
    for (const prompt of this.waiting) this.giveBack(prompt);
  }

  /** However it came out. */
  remove(prompt: Prompt): void {
    this.sent = this.sent.filter((other) => other !== prompt);
    this.beginNext();
  }

  clear(): void {
    this.steering.clear();
    this.sent = [];
  }

  ended(prompt: Prompt, answer: PromptResult): void {
    const { stopReason } = answer;
    if (isUnsent(answer)) this.giveBack(prompt);
    else if (!prompt.begun) this.begin(prompt); // it shared the turn of another one
    if (prompt.begun && stopReason === "cancelled") this.transcript.stopped();
    else if (prompt.begun && stopReason !== "end_turn") this.transcript.note("warning", vscode.l10n.t("The turn ended early: {0}.", stopReason));
    const failure = answer._meta?.north?.error?.kind;
    if (failure !== undefined) this.transcript.classify(failure);
    this.takeUnsent(answer);
  }

  /** The server did not begin with it: it belongs to the user again, if only a key is missing as long as it is not shown. */
  refused(prompt: Prompt, error: unknown): void {
    const isAuth = isKeyMissing(error);
    if (!prompt.begun || (!isAuth && prompt.isTaken !== true)) this.giveBack(prompt);
    if (isAuth) this.transcript.fail(reason(error), "auth");
    else this.transcript.note("error", reason(error));
  }

  restoreUnsent(content: PromptContent): void {
    const { text, attachments, isShown = false } = content;
    if (!isShown) this.unsentEmitter.fire({ text, attachments });
  }

  /** What the server did not send; but what is in `known`, which the user has already. */
  takeUnsent({ _meta }: { _meta?: Unsent | null }, known: readonly PromptContent[] = []): void {
    const rest = [...known];
    for (const { text } of _meta?.north?.queued ?? []) {
      const content = findSent(rest, text);
      if (content === undefined) this.restoreUnsent({ text, attachments: [] });
      else rest.splice(rest.indexOf(content), 1);
    }
  }

  /** Once, and but for what the user has removed. */
  private giveBack(prompt: Prompt): void {
    if (prompt.isRemoved === true || prompt.isReturned === true) return;
    prompt.isReturned = true;
    this.restoreUnsent(prompt);
  }

  private noteEntry(item: Item | undefined): void {
    if (item?.kind !== "user" || item.entry === undefined) return;
    const prompt = this.sent.find(({ row }) => row === item.id);
    if (prompt !== undefined) prompt.isTaken = true;
  }

  /** The server answers one prompt after the other; one that waits is shown where its turn begins. */
  private beginNext(): void {
    const [next] = this.sent;
    if (next !== undefined && !next.begun && next.isRemoved !== true) this.begin(next);
    this.changed();
  }

  private begin(prompt: Prompt): void {
    prompt.begun = true;
    const { text, attachments } = prompt;
    prompt.row = this.transcript.say(text, labelsOf(attachments));
    this.last = { content: { text, attachments }, row: prompt.row };
    this.noteEntry(this.transcript.get(prompt.row)); // its turn may have begun by then
  }
}

/** The server has nothing of it, whatever it has told before. */
function isUnsent({ _meta }: PromptResult): boolean {
  return _meta?.north?.unsent === true;
}

/** The request's parameters. During a turn it waits: words for the turn itself are steered. */
export function promptOf({ text, attachments }: PromptContent, editorState: EditorState | undefined): object {
  const north = { behavior: "followUp", ...(editorState === undefined ? {} : { editorState }) };
  return { prompt: blocksOf(text, attachments), _meta: { north } };
}

/** ACP's error for a prompt to a model that has no key. */
function isKeyMissing(error: unknown): boolean {
  return typeof error === "object" && error !== null && "code" in error && error.code === -32000;
}
