/** What the page says by itself. */

import { t } from "./words";

export const WORDS = {
  you: t("You"),
  north: t("North"),
  copy: t("Copy"),
  copied: t("Copied"),
  insert: t("Insert at Cursor"),
  apply: t("Apply to File…"),
  thoughts: t("Thoughts"),
  showAll: t("Show all"),
  showLess: t("Show less"),
  plan: t("Plan"),
  done: t("done"),
  running: t("running"),
  pending: t("waiting"),
  failed: t("failed"),
  showDetails: t("Details"),
  openDiff: t("Open Diff"),
  tryNow: t("Try now"),
  giveUp: t("Give up"),
  storeKey: t("Store a Key…"),
  again: t("Try Again"),
  switchModel: t("Switch Model…"),
  created: t("new"),
  deleted: t("deleted"),
  moved: t("moved"),
  changed: t("changed"),
  beingWritten: t("being written"),
  failedAnswer: t("The model gave no complete answer"),
  waitsBelow: (heading: string) => t("{0} — waits for you below", heading),
  chose: (decision: string) => t("You chose: {0}", decision),
  theCommand: t("The command"),
  whatWasAsked: t("What was asked"),
  trying: (seconds: number, failures: number) =>
    `${notReached(failures)} ${seconds > 0 ? t("Trying again in {0} s.", seconds) : t("Trying again now.")}`,
  triedAgain: (failures: number) =>
    failures < 2 ? t("The model could not be reached, and was asked again.") : t("The model could not be reached {0} times, and was asked again.", failures),
  gaveUp: (failures: number) => `${notReached(failures)} ${t("Gave up.")}`,
  moreLines: (count: number) => (count === 1 ? t("1 more changed line") : t("{0} more changed lines", count)),
  /** A folded group: what was looked at. */
  looked: (read: number, searched: number) =>
    [
      read === 0 ? "" : read === 1 ? t("Read one place") : t("Read {0} places", read),
      searched > 0 ? searches(searched, read > 0) : "",
    ].filter((part) => part !== "").join(", "),
  failures: (count: number) => (count === 1 ? t("one failed") : t("{0} failed", count)),
};

function searches(count: number, goesOn: boolean): string {
  if (goesOn) return count === 1 ? t("searched once") : t("searched {0} times", count);
  return count === 1 ? t("Searched once") : t("Searched {0} times", count);
}

function notReached(failures: number): string {
  return failures < 2 ? t("The model could not be reached.") : t("The model could not be reached {0} times.", failures);
}
