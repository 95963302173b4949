/** What is under way, to be waited for as a whole. */
export class Pending {
  private readonly works = new Set<Promise<void>>();

  add(work: Promise<void>): Promise<void> {
    const ended = work.finally(() => this.works.delete(ended));
    this.works.add(ended);
    return ended;
  }

  /** However it came out. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.works);
  }
}
