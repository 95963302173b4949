/** The messages that wait, as the server tells them, and what the user does with them. */

import type { NorthEvent } from "../acp";
import { labelsOf } from "../composer/chips";
import type { QueueAct, QueuedRow } from "../messages";
import type { PromptContent, Prompts } from "./prompts";

interface Told {
  id: string;
  text: string;
}

/** Those of a conversation. `ask` is one of North's own requests about it. */
export class Queue {
  /** Undefined as long as the server has told nothing. */
  private told: { steer: Told[]; followUp: Told[] } | undefined;

  constructor(
    private readonly prompts: Prompts,
    private readonly ask: <Result>(method: string, params: object) => Promise<Result>,
    private readonly changed: () => void,
  ) {}

  get rows(): QueuedRow[] {
    if (this.told === undefined) return this.prompts.waiting.map((one) => ({ id: "", text: one.text || labelsOf(one.attachments), steers: false }));
    const rows = (told: Told[], steers: boolean): QueuedRow[] => told.map(({ id, text }) => ({ id, text, steers }));
    return [...rows(this.told.steer, true), ...rows(this.told.followUp, false)];
  }

  /** What the server tells of it. */
  take({ steer = [], followUp = [] }: Pick<NorthEvent, "steer" | "followUp">): void {
    this.told = { steer, followUp };
    this.changed();
  }

  forget(): void {
    this.told = undefined;
  }

  /** Throws with the server's reason, as when the message has just had its turn. */
  async act(id: string, act: QueueAct): Promise<void> {
    const row = this.rows.find((one) => one.id === id);
    if (row === undefined) return;
    if (act === "edit" || act === "remove") {
      // Its request is answered as cancelled, and what was not sent goes back into the input.
      const undo = this.prompts.withdraw(row.text, act === "edit");
      await this.ask("_north/queue/withdraw", { id }).catch((error: unknown) => {
        undo();
        throw error;
      });
      return;
    }
    const place = (this.told?.followUp ?? []).findIndex((one) => one.id === id);
    const position = act === "earlier" ? place - 1 : place + 1;
    if (place < 0 || position < 0 || position >= (this.told?.followUp.length ?? 0)) return;
    const { followUp } = await this.ask<{ followUp: Told[] }>("_north/queue/edit", { id, position });
    this.prompts.order(followUp.map(({ text }) => text));
  }
}

/** Which of the prompts the server's text is about: it shows what is attached behind the words. */
export function findSent<Content extends PromptContent>(prompts: readonly Content[], text: string): Content | undefined {
  const fitting = prompts.filter((one) => one.text === text || text.startsWith(`${one.text}\n\n`) || one.text === "");
  return fitting.find((one) => one.text === text) ?? fitting.sort((one, other) => other.text.length - one.text.length)[0];
}
