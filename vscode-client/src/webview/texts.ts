/** What the page says in the conversation. */

import type { RetryItem } from "../messages";
import { t } from "./translations";

const CAUSES: Record<RetryItem["cause"], string> = {
  network: t("The model could not be reached"),
  limited: t("The provider limited the requests"),
  overloaded: t("The model was overloaded"),
  other: t("The model did not answer"),
};

/** What failed, and how often one time after the other. */
function failed({ cause, failures }: Pick<RetryItem, "cause" | "failures">): string {
  return failures < 2 ? CAUSES[cause] : t("{0} {1} times", CAUSES[cause], failures);
}

export const WORDS = {
  you: t("You"),
  north: t("North"),
  copy: t("Copy"),
  copied: t("Copied"),
  insert: t("Insert at Cursor"),
  apply: t("Apply to File…"),
  toTerminal: t("Type into the Terminal"),
  diagram: t("Show in the Markdown Preview"),
  thoughts: t("Thoughts"),
  showAll: t("Show all"),
  showLess: t("Show less"),
  plan: t("Plan"),
  table: t("Table"),
  code: t("Code"),
  found: t("What was found"),
  open: t("to be done"),
  done: t("done"),
  running: t("running"),
  pending: t("waiting"),
  failed: t("failed"),
  showDetails: t("Details"),
  detailsOf: (title: string) => t("Details: {0}", title),
  showTerminal: t("Show Terminal"),
  toEnd: t("To the end"),
  showWhole: t("Show the Whole Output"),
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
  failedAnswer: t("The request failed"),
  waitsBelow: t("Waits for your decision below"),
  chose: (decision: string) => t("You chose: {0}", decision),
  /** Why North waits before it asks the model again. */
  wait: (item: RetryItem) => failed(item),
  trying: (item: RetryItem) => t("{0}. Trying again in {1} s.", failed(item), item.seconds),
  triedAgain: (item: RetryItem) => t("{0}, and was asked again.", failed(item)),
  gaveUp: (item: RetryItem) => t("{0}. Gave up.", failed(item)),
  exitCode: (code: number) => t("exit code {0}", code),
  linesFrom: (line: number) => t("Changes from line {0}", line),
  editPrompt: t("Edit and Resend"),
  rewindHere: t("Rewind to Here…"),
  branchHere: t("Branch from Here"),
  editing: t("You are editing an earlier message: sending it goes back there."),
  stopEditing: t("Cancel"),
  moreLines: (count: number) => t("Changed lines that are not shown: {0}", count),
  /** A folded group: what was looked at. */
  looked: (read: number, searched: number) => {
    const reads = read === 1 ? t("Read once") : t("Read {0} times", read);
    if (searched === 0) return reads;
    if (read === 0) return searched === 1 ? t("Searched once") : t("Searched {0} times", searched);
    return searched === 1 ? t("{0}, searched once", reads) : t("{0}, searched {1} times", reads, searched);
  },
  failures: (count: number) => t("{0} failed", count),
  firstOf: (count: number) => t("1 of {0} questions", count),
};
