/** What the user has written before, to be gone through from the input. */

const MOST = 50;
/** Of what was sent, which the conversation has, too. */
const LONGEST = 10_000;

export class History {
  private entries: string[];
  /** The one that is shown; behind the last one while the user writes. */
  private at: number;
  /** What was being written when the user began to look back. */
  private draft = "";

  constructor(entries: readonly string[] = []) {
    this.entries = entries.slice(-MOST);
    this.at = this.entries.length;
  }

  /** The last ones, for the page to remember; with what was being written, as long as something else is shown. */
  all(): string[] {
    const draft = this.at < this.entries.length ? [this.draft] : [];
    return [...this.entries, ...draft.filter(isText)].slice(-MOST);
  }

  /** Puts what other conversations were sent before what is known; what is shown stays the same. */
  extend(earlier: readonly string[]): void {
    const known = new Set(this.entries);
    const before = earlier.filter((text) => !known.has(text));
    this.entries = [...before, ...this.entries];
    this.at += before.length;
  }

  add(text: string): void {
    this.keepDraft();
    if (text.length <= LONGEST) this.put(text);
    this.at = this.entries.length;
  }

  /** The one before what is shown; undefined if there is none. */
  older(shown: string): string | undefined {
    if (shown !== this.entries[this.at]) {
      this.keepDraft(); // an earlier one was changed, which is the draft now
      this.draft = shown;
      this.at = this.entries.length;
    }
    if (this.at === 0) return undefined;
    this.at -= 1;
    return this.entries[this.at];
  }

  /** The one behind what is shown, at last what was being written; undefined while nothing is looked at. */
  newer(shown: string): string | undefined {
    if (this.at >= this.entries.length || shown !== this.entries[this.at]) return undefined;
    this.at += 1;
    return this.entries[this.at] ?? this.draft;
  }

  /** What was being written before something else was shown: it can be gone back to. */
  private keepDraft(): void {
    if (this.at < this.entries.length) this.put(this.draft);
    this.draft = "";
  }

  private put(text: string): void {
    if (isText(text)) this.entries = [...this.entries.filter((entry) => entry !== text), text];
  }
}

function isText(text: string): boolean {
  return text.trim() !== "";
}
