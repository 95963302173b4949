/** The rows of a conversation, as the extension makes them and the page shows them. */

import type { ToolStatus } from "./acp";
import type { FormField } from "./forms";

export interface Option {
  id: string;
  name: string;
  /** Rejecting can say why. */
  rejects: boolean;
  /** It allows more than this once: the extension asks again, in words. */
  lasts: boolean;
}

/** A row of the conversation. A later one with the same `id` takes the place of the earlier one. */
export type Item =
  /** `entry`: the conversation can go back to it. */
  | { kind: "user"; id: string; text: string; attachment?: string; entry?: string }
  | { kind: "answer" | "thought"; id: string; markdown: string }
  | ToolItem
  | RetryItem
  | { kind: "plan"; id: string; entries: PlanEntry[] }
  | { kind: "failure"; id: string; text: string; actions: FailureAction[] }
  | { kind: "notice"; id: string; severity: string; text: string }
  | ChangesItem
  | SummaryItem
  | Question;

/** A summary in place of the older part of the conversation: `markdown` is empty until it is there. */
export interface SummaryItem {
  kind: "summary";
  id: string;
  compaction: string;
  state: "in_progress" | "completed" | "failed" | "cancelled";
  text: string;
  markdown: string;
  files: string[];
}

/** What a turn has changed in files. */
export interface ChangesItem {
  kind: "changes";
  id: string;
  text: string;
  /** What became of it since; empty while it stands. */
  note: string;
  files: { path: string; name: string }[];
  buttons: { act: "show" | "undo" | "redo"; text: string }[];
}

/** A tool call: what is done, with what, and what came of it. */
export interface ToolItem {
  kind: "tool";
  id: string;
  title: string;
  /** The title as the server says it, where another one is shown. */
  told?: string;
  /** `read`, `search`, `edit`, `execute` …: what it does, in ACP's words. */
  does: string;
  status: ToolStatus;
  file?: string;
  line?: number;
  /** Calls with the same group that follow each other can be folded. */
  group?: string;
  /** Its arguments by name. */
  input: { name: string; value: string }[];
  parts: ToolPart[];
  /** The model got a part of the result: which, in words. */
  shortened?: string;
  /** The server has all of it under this name. */
  artifact?: string;
  /** Of a command that has ended. */
  exitCode?: number;
  /** What became of its edit since; empty while it stands. */
  note?: string;
}

export type ToolPart =
  /** `code`: as it is; otherwise Markdown. */
  | { kind: "text"; text: string; code: boolean }
  /** It runs in a terminal of VS Code's. */
  | { kind: "terminal" }
  /** What agents do for it. */
  | { kind: "tasks"; rows: TaskItem[] }
  | ShownDiff;

/** A task of an agent: its state in words, what it does now, and its tokens. */
export interface TaskItem {
  id: string;
  agent: string;
  status: ToolStatus;
  state: string;
  doing: string;
  tokens: string;
}

/** A changed file, or what has come of an edit that is still being written (`preview`). */
export interface ShownDiff {
  kind: "diff";
  /** Absolute; `name` is what is shown of it. */
  path: string;
  name: string;
  change: "create" | "update" | "delete" | "rename";
  added: number;
  removed: number;
  hunks: { line: number; lines: string[] }[];
  /** So many changed lines are not among them. */
  left: number;
  preview: boolean;
}

/** Waiting before the model is asked again. */
export interface RetryItem {
  kind: "retry";
  id: string;
  state: "waiting" | "over" | "stopped";
  /** What failed: the network, the provider's limits, its load, or something else. */
  cause: "network" | "limited" | "overloaded" | "other";
  /** How often the model failed, one time after the other. */
  failures: number;
  seconds: number;
  reason: string;
}

export interface PlanEntry {
  text: string;
  status: "pending" | "in_progress" | "completed";
}

/** What can be done about a failure: store a key, say it again, use another model. */
export type FailureAction = "storeKey" | "again" | "switchModel";

/** Something that only the user decides. `decision` is the chosen option's name, once there is one. */
export interface Question {
  kind: "edit" | "command" | "choice";
  id: string;
  title: string;
  /** What is asked, in words. */
  heading: string;
  /** What it is about, where the heading does not say it. */
  about?: string;
  markdown: string;
  options: Option[];
  /** There are texts to compare. */
  hasDiff: boolean;
  /** The command as it is, where all of it can be seen: it may be changed before it runs. */
  command?: string;
  /** It is a form: its first option answers with all of these. */
  fields?: FormField[];
  decision?: string;
}
