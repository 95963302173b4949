/** What the page says in the conversation. */

import { t } from "./translations";

export const WORDS = {
  you: t("You"),
  north: t("North"),
  copy: t("Copy"),
  insert: t("Insert at Cursor"),
  apply: t("Apply to File…"),
  thoughts: t("Thoughts"),
  showAll: t("Show all"),
  showLess: t("Show less"),
  plan: t("Plan"),
  table: t("Table"),
  code: t("Code"),
  open: t("to be done"),
  wait: t("The model could not be reached"),
  done: t("done"),
  running: t("running"),
  pending: t("waiting"),
  failed: t("failed"),
  showDetails: t("Details"),
  detailsOf: (title: string) => t("Details: {0}", title),
  showTerminal: t("Show Terminal"),
  toEnd: t("To the end"),
  openDiff: t("Open Diff"),
  tryNow: t("Try now"),
  giveUp: t("Give up"),
  storeKey: t("Store a Key…"),
  again: t("Try Again"),
  switchModel: t("Switch Model…"),
  created: t("new"),
  deleted: t("deleted"),
  moved: t("moved"),
  beingWritten: t("being written"),
  failedAnswer: t("The model gave no complete answer"),
  waitsBelow: (heading: string) => t("{0} — waits for you below", heading),
  chose: (decision: string) => t("You chose: {0}", decision),
  trying: (seconds: number, failures: number) =>
    failures < 2
      ? t("The model could not be reached. Trying again in {0} s.", seconds)
      : t("The model could not be reached {0} times. Trying again in {1} s.", failures, seconds),
  triedAgain: (failures: number) =>
    failures < 2
      ? t("The model could not be reached, and was asked again.")
      : t("The model could not be reached {0} times, and was asked again.", failures),
  gaveUp: (failures: number) =>
    failures < 2 ? t("The model could not be reached. Gave up.") : t("The model could not be reached {0} times. Gave up.", failures),
  linesFrom: (line: number) => t("Changes from line {0}", line),
  editPrompt: t("Edit and Resend"),
  rewindHere: t("Rewind to Here…"),
  branchHere: t("Branch from Here"),
  editing: t("You are editing an earlier message: sending it goes back there."),
  stopEditing: t("Cancel"),
  moreLines: (count: number) => t("Changed lines that are not shown: {0}", count),
  /** A folded group: what was looked at. */
  looked: (read: number, searched: number) =>
    searched === 0 ? t("Read {0} times", read) : read === 0 ? t("Searched {0} times", searched) : t("Read {0} times, searched {1} times", read, searched),
  failures: (count: number) => t("{0} failed", count),
  firstOf: (count: number) => t("1 of {0} questions", count),
};
