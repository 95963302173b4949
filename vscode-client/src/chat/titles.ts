/** Titles of calls: the server's say what is being done, whether it still waits, is over, or has failed. */

import { l10n } from "vscode";

import type { ToolStatus } from "../acp";

const { t } = l10n;

/** By the first word of a title: what is to be done (or was, and failed), is being done, and is done; `rest` is what stands
 * behind that word. */
const FORMS: Record<string, (rest: string) => [asked: string, doing: string, done: string]> = {
  Answering: (rest) => [t("Answer {0}", rest), t("Answering {0}", rest), t("Answered {0}", rest)],
  Applying: (rest) => [t("Apply {0}", rest), t("Applying {0}", rest), t("Applied {0}", rest)],
  "Asking:": (rest) => [t("Ask: {0}", rest), t("Asking: {0}", rest), t("Asked: {0}", rest)],
  Asking: (rest) => [t("Ask {0}", rest), t("Asking {0}", rest), t("Asked {0}", rest)],
  Calculating: (rest) => [t("Calculate {0}", rest), t("Calculating {0}", rest), t("Calculated {0}", rest)],
  Checking: (rest) => [t("Check {0}", rest), t("Checking {0}", rest), t("Checked {0}", rest)],
  Creating: (rest) => [t("Create {0}", rest), t("Creating {0}", rest), t("Created {0}", rest)],
  Deleting: (rest) => [t("Delete {0}", rest), t("Deleting {0}", rest), t("Deleted {0}", rest)],
  Detecting: (rest) => [t("Detect {0}", rest), t("Detecting {0}", rest), t("Detected {0}", rest)],
  Editing: (rest) => [t("Edit {0}", rest), t("Editing {0}", rest), t("Edited {0}", rest)],
  Ending: (rest) => [t("End {0}", rest), t("Ending {0}", rest), t("Ended {0}", rest)],
  Expanding: (rest) => [t("Expand {0}", rest), t("Expanding {0}", rest), t("Expanded {0}", rest)],
  Extracting: (rest) => [t("Extract {0}", rest), t("Extracting {0}", rest), t("Extracted {0}", rest)],
  Fetching: (rest) => [t("Fetch {0}", rest), t("Fetching {0}", rest), t("Fetched {0}", rest)],
  Finding: (rest) => [t("Find {0}", rest), t("Finding {0}", rest), t("Found {0}", rest)],
  Formatting: (rest) => [t("Format {0}", rest), t("Formatting {0}", rest), t("Formatted {0}", rest)],
  Listing: (rest) => [t("List {0}", rest), t("Listing {0}", rest), t("Listed {0}", rest)],
  Looking: (rest) => [t("Look {0}", rest), t("Looking {0}", rest), t("Looked {0}", rest)],
  Moving: (rest) => [t("Move {0}", rest), t("Moving {0}", rest), t("Moved {0}", rest)],
  Outlining: (rest) => [t("Outline {0}", rest), t("Outlining {0}", rest), t("Outlined {0}", rest)],
  Reading: (rest) => [t("Reading {0}", rest), t("Reading {0}", rest), t("Read {0}", rest)],
  "Remembering:": (rest) => [t("Remember: {0}", rest), t("Remembering: {0}", rest), t("Remembered: {0}", rest)],
  Renaming: (rest) => [t("Rename {0}", rest), t("Renaming {0}", rest), t("Renamed {0}", rest)],
  Running: (rest) => [t("Run {0}", rest), t("Running {0}", rest), t("Ran {0}", rest)],
  Searching: (rest) => [t("Search {0}", rest), t("Searching {0}", rest), t("Searched {0}", rest)],
  Starting: (rest) => [t("Start {0}", rest), t("Starting {0}", rest), t("Started {0}", rest)],
  Undoing: (rest) => [t("Undo {0}", rest), t("Undoing {0}", rest), t("Undid {0}", rest)],
  Waiting: (rest) => [t("Wait {0}", rest), t("Waiting {0}", rest), t("Waited {0}", rest)],
  Writing: (rest) => [t("Write {0}", rest), t("Writing {0}", rest), t("Wrote {0}", rest)],
};

/** A title whose first word is not known stays as it is. */
export function titleOf(told: string, status: ToolStatus): string {
  const space = told.indexOf(" ");
  const word = told.slice(0, Math.max(space, 0));
  const forms = Object.hasOwn(FORMS, word) ? FORMS[word] : undefined;
  if (forms === undefined) return told;
  const [asked, doing, done] = forms(told.slice(space + 1));
  return status === "completed" ? done : status === "in_progress" ? doing : asked;
}
