/** Titles of calls that are done: the server's say what is being done. */

import { l10n } from "vscode";

/** By the first word of a title, what it says once it is done; `rest` is what stands behind that word. */
const DONE: Record<string, (rest: string) => string> = {
  Answering: (rest) => l10n.t("Answered {0}", rest),
  Applying: (rest) => l10n.t("Applied {0}", rest),
  "Asking:": (rest) => l10n.t("Asked: {0}", rest),
  Asking: (rest) => l10n.t("Asked {0}", rest),
  Calculating: (rest) => l10n.t("Calculated {0}", rest),
  Checking: (rest) => l10n.t("Checked {0}", rest),
  Creating: (rest) => l10n.t("Created {0}", rest),
  Deleting: (rest) => l10n.t("Deleted {0}", rest),
  Detecting: (rest) => l10n.t("Detected {0}", rest),
  Editing: (rest) => l10n.t("Edited {0}", rest),
  Ending: (rest) => l10n.t("Ended {0}", rest),
  Expanding: (rest) => l10n.t("Expanded {0}", rest),
  Extracting: (rest) => l10n.t("Extracted {0}", rest),
  Fetching: (rest) => l10n.t("Fetched {0}", rest),
  Finding: (rest) => l10n.t("Found {0}", rest),
  Formatting: (rest) => l10n.t("Formatted {0}", rest),
  Listing: (rest) => l10n.t("Listed {0}", rest),
  Looking: (rest) => l10n.t("Looked {0}", rest),
  Moving: (rest) => l10n.t("Moved {0}", rest),
  Outlining: (rest) => l10n.t("Outlined {0}", rest),
  Reading: (rest) => l10n.t("Read {0}", rest),
  "Remembering:": (rest) => l10n.t("Remembered: {0}", rest),
  Renaming: (rest) => l10n.t("Renamed {0}", rest),
  Running: (rest) => l10n.t("Ran {0}", rest),
  Searching: (rest) => l10n.t("Searched {0}", rest),
  Starting: (rest) => l10n.t("Started {0}", rest),
  Undoing: (rest) => l10n.t("Undid {0}", rest),
  Waiting: (rest) => l10n.t("Waited {0}", rest),
  Writing: (rest) => l10n.t("Wrote {0}", rest),
};

/** A title whose first word is not known stays as it is. */
export function titleWhenDone(title: string): string {
  const space = title.indexOf(" ");
  const word = title.slice(0, Math.max(space, 0));
  const done = Object.hasOwn(DONE, word) ? DONE[word] : undefined;
  return done === undefined ? title : done(title.slice(space + 1));
}
