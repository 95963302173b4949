/** What the page says by itself. */

export const WORDS = {
  you: "You",
  north: "North",
  copy: "Copy",
  copied: "Copied",
  insert: "Insert at Cursor",
  apply: "Apply to File…",
  thoughts: "Thoughts",
  showAll: "Show all",
  showLess: "Show less",
  plan: "Plan",
  table: "Table",
  done: "done",
  running: "running",
  pending: "waiting",
  failed: "failed",
  showDetails: "Details",
  openDiff: "Open Diff",
  tryNow: "Try now",
  giveUp: "Give up",
  storeKey: "Store a Key…",
  again: "Try Again",
  switchModel: "Switch Model…",
  created: "new",
  deleted: "deleted",
  moved: "moved",
  changed: "changed",
  beingWritten: "being written",
  failedAnswer: "The model gave no complete answer",
  waitsBelow: (heading: string) => `${heading} — waits for you below`,
  chose: (decision: string) => `You chose: ${decision}`,
  theCommand: "The command",
  whatWasAsked: "What was asked",
  trying: (seconds: number, failures: number) =>
    `The model could not be reached${times(failures)}. Trying again ${seconds > 0 ? `in ${seconds} s` : "now"}.`,
  triedAgain: (failures: number) => `The model could not be reached${times(failures)}, and was asked again.`,
  gaveUp: (failures: number) => `The model could not be reached${times(failures)}. Gave up.`,
  moreLines: (count: number) => (count === 1 ? "1 more changed line" : `${count} more changed lines`),
  /** A folded group: what was looked at. */
  looked: (read: number, searched: number) =>
    [
      read > 0 ? `Read ${read === 1 ? "one place" : `${read} places`}` : "",
      searched > 0 ? `${read > 0 ? "searched" : "Searched"} ${searched === 1 ? "once" : `${searched} times`}` : "",
    ].filter((part) => part !== "").join(", "),
  failures: (count: number) => (count === 1 ? "one failed" : `${count} failed`),
};

function times(count: number): string {
  return count < 2 ? "" : ` ${count} times`;
}
