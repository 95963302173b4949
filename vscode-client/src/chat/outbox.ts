/** What the user has sent from a page until the conversation has it, or the user again. The page remembers it meanwhile: the
 * window may end while North starts. */

import type { Memento } from "vscode";

import type { QueuedRow, Sent } from "../messages";

const DELIVERED = "north.delivered";
const MOST = 100;

export class Outbox {
  private held: Sent[] = [];
  /** All that pages have sent since the window began, by their ids. */
  private readonly known = new Set<string>();
  /** Held ones of pages that are gone, as in another place of the window: those are not told of the end. */
  private readonly left = new Set<string>();

  /** `memory` outlives the window, as what pages remember does. */
  constructor(
    private readonly memory: Pick<Memento, "get" | "update">,
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
      await deliver(() => this.delivered(message));
    } catch (error) {
      if (this.held.includes(message)) this.restore(message.text);
      throw error;
    } finally {
      this.settle(message);
    }
  }

  /** The page is gone, or another one takes its place. */
  leavePage(): void {
    for (const { id } of this.held) this.left.add(id);
  }

  /** What a page does not know the end of. What nobody here knows was sent in a window that has ended: the user has it again. */
  find(unsettled: readonly Sent[]): void {
    const before = this.deliveredBefore;
    const lost = unsettled.filter(({ id }) => !this.known.has(id) && !before.includes(id));
    for (const { id, text } of lost) {
      this.known.add(id);
      this.restore(text);
    }
    for (const { id } of unsettled) this.left.delete(id);
    const over = unsettled.filter((one) => !this.held.some(({ id }) => id === one.id));
    if (over.length > 0) this.settled(over.map(({ id }) => id));
  }

  /** The last ones whose pages may not know it. */
  private get deliveredBefore(): string[] {
    return this.memory.get<string[]>(DELIVERED) ?? [];
  }

  /** The conversation has it. What comes back instead is not noted: the window may end before a page has it. */
  private delivered(message: Sent): void {
    if (this.left.has(message.id)) void this.memory.update(DELIVERED, [...this.deliveredBefore, message.id].slice(-MOST));
    this.settle(message);
  }

  private settle(message: Sent): void {
    if (!this.held.includes(message)) return;
    this.held = this.held.filter((other) => other !== message);
    this.left.delete(message.id);
    this.settled([message.id]);
  }
}
