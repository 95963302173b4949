/** Something of which there is at most one, and which takes time to begin and to end: the next one begins when the one
 * before has ended, and whoever asks meanwhile gets the newest. */
export class SingleInstance<Prepared, Thing> {
  private wanted: Promise<Thing> | undefined;
  private begun: Promise<Thing> | undefined;
  private ended: Promise<unknown> = Promise.resolve();
  private round = 0;
  private isClosed = false;

  /** What `prepare` does can be in vain: it is no part of the thing. */
  constructor(
    private readonly prepare: () => Promise<Prepared>,
    private readonly begin: (prepared: Prepared) => Promise<Thing>,
    private readonly end: (thing: Thing) => Promise<void>,
  ) {}

  /** Begins it, if there is none. */
  get(): Promise<Thing> {
    if (this.wanted !== undefined) return this.wanted;
    const wanted = this.start(this.round);
    this.wanted = wanted;
    wanted.catch(() => {
      if (this.wanted === wanted) this.wanted = this.begun = undefined;
    });
    return wanted;
  }

  /** Resolves when it has ended. */
  stop(): Promise<void> {
    const { begun } = this;
    this.markEnded();
    const ended = begun === undefined ? Promise.resolve() : begun.then(this.end, () => undefined);
    this.ended = Promise.all([this.ended, ended]);
    return ended;
  }

  /** It has ended by itself. */
  markEnded(): void {
    this.round += 1;
    this.wanted = this.begun = undefined;
  }

  /** Stops it for good. */
  close(): Promise<void> {
    this.isClosed = true;
    return this.stop();
  }

  private async start(round: number): Promise<Thing> {
    const prepared = await this.prepare();
    await this.ended;
    if (this.isClosed) throw new Error("closed");
    if (round !== this.round) return this.get(); // it was stopped meanwhile, and is wanted again
    this.begun = this.begin(prepared);
    return this.begun;
  }
}
