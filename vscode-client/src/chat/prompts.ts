/** What was sent and is not answered yet: the first one is being worked on, the others wait. */

import * as vscode from "vscode";

import type { PromptResult, Unsent } from "../acp";
import { type Attachment, labelsOf } from "../composer/chips";
import type { Transcript } from "./transcript";

/** What the user wrote. */
export interface Words {
  text: string;
  attachments: readonly Attachment[];
}

export interface Prompt extends Words {
  /** Its turn has come: it is part of the conversation. */
  begun: boolean;
}

export class Prompts implements vscode.Disposable {
  private sent: Prompt[] = [];
  private readonly returned = new vscode.EventEmitter<Words>();

  /** What was not sent belongs to the user again. */
  readonly onReturn = this.returned.event;

  constructor(
    private readonly transcript: Transcript,
    private readonly changed: () => void,
  ) {}

  dispose(): void {
    this.returned.dispose();
  }

  get any(): boolean {
    return this.sent.length > 0;
  }

  get waiting(): Prompt[] {
    return this.sent.slice(1);
  }

  add(words: Words): Prompt {
    const prompt = { ...words, begun: false };
    this.sent.push(prompt);
    this.beginNext();
    return prompt;
  }

  /** However it came out. */
  remove(prompt: Prompt): void {
    this.sent = this.sent.filter((other) => other !== prompt);
    this.beginNext();
  }

  clear(): void {
    this.sent = [];
  }

  ended(prompt: Prompt, answer: PromptResult): void {
    const { stopReason } = answer;
    if (!prompt.begun) this.giveBack(prompt);
    else if (stopReason === "cancelled") this.transcript.note("info", vscode.l10n.t("Stopped."));
    else if (stopReason !== "end_turn") this.transcript.note("warning", vscode.l10n.t("The turn ended early: {0}.", stopReason));
    this.giveBackUnsent(answer);
  }

  giveBack(words: Words): void {
    this.returned.fire({ text: words.text, attachments: words.attachments });
  }

  /** What the server did not send; but what is in `known`, which is given back otherwise. */
  giveBackUnsent({ _meta }: { _meta?: Unsent | null }, known: readonly Words[] = []): void {
    for (const { text } of _meta?.north?.queued ?? []) {
      if (!known.some((words) => words.text === text)) this.giveBack({ text, attachments: [] });
    }
  }

  /** The server answers one prompt after the other; one that waits is shown where its turn begins. */
  private beginNext(): void {
    const [next] = this.sent;
    if (next !== undefined && !next.begun) {
      next.begun = true;
      this.transcript.say(next.text, labelsOf(next.attachments));
    }
    this.changed();
  }
}
