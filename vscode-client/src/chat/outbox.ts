/** What the user has sent from a page until the conversation has it, or the user again. The page remembers it meanwhile: the
 * window may end while North starts. */

import type { QueuedRow, Sent } from "../messages";

export class Outbox {
  private held: Sent[] = [];
  /** All that pages have sent since the window began, by their ids. */
  private readonly known = new Set<string>();

  constructor(
    private readonly restore: (text: string) => void,
    private readonly settled: (ids: string[]) => void,
  ) {}

  get isEmpty(): boolean {
    return this.held.length === 0;
  }

  /** It waits, and can only wait. */
  get rows(): QueuedRow[] {
    return this.held.filter(({ text }) => text !== "").map(({ text }) => ({ id: "", text, steers: false }));
  }

  /** Has a message sent, which calls `taken` once the conversation has it. If that fails before, the user has it again. */
  async send(message: Sent, deliver: (taken: () => void) => Promise<void>): Promise<void> {
    this.known.add(message.id);
    this.held.push(message);
    try {
      await deliver(() => this.settle(message));
    } catch (error) {
      if (this.held.includes(message)) this.restore(message.text);
      throw error;
    } finally {
      this.settle(message);
    }
  }

  /** What a page does not know the end of. What nobody here knows was sent in a window that has ended: the user has it again. */
  find(unsettled: readonly Sent[]): void {
    const lost = unsettled.filter(({ id }) => !this.known.has(id));
    for (const { id, text } of lost) {
      this.known.add(id);
      this.restore(text);
    }
    const over = unsettled.filter((one) => !this.held.some(({ id }) => id === one.id));
    if (over.length > 0) this.settled(over.map(({ id }) => id));
  }

  private settle(message: Sent): void {
    if (!this.held.includes(message)) return;
    this.held = this.held.filter((other) => other !== message);
    this.settled([message.id]);
  }
}
