/** Whether the end of the conversation is looked at, and what comes is followed, until the user scrolls up. Pure. */

export interface Measures {
  top: number;
  /** Of all that can be scrolled to. */
  height: number;
  /** Of what is in view. */
  view: number;
}

/** So near to the end, in pixels, is at the end. */
const NEAR = 40;

export class Following {
  isOn = true;
  private seen: Measures = { top: 0, height: 0, view: 0 };

  /** What is there now, however it came about. */
  note(now: Measures): void {
    this.seen = now;
  }

  /** It was scrolled: whether the end is to be gone to. More room, or less text, moves what is in view as well; only the
   * user goes up. */
  scrolled(now: Measures): boolean {
    const before = this.seen;
    this.seen = now;
    const left = now.height - now.top - now.view;
    const isUp = now.top < before.top;
    if (this.isOn && (now.view > before.view || now.height < before.height)) return left > 1;
    if (left < NEAR) {
      this.isOn = true;
      return !isUp && left > 1;
    }
    if (isUp) this.isOn = false;
    return false;
  }
}
