/** What the extension and the chat's page say to each other. */

import type { ToolStatus } from "./acp";

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
  | { kind: "user"; id: string; text: string; attachment?: string }
  | { kind: "answer" | "thought"; id: string; markdown: string }
  | { kind: "tool"; id: string; title: string; status: ToolStatus; file?: string; line?: number; retries?: boolean }
  | { kind: "notice"; id: string; severity: string; text: string }
  | Question;

/** Something that only the user decides. `decision` is the chosen option's name, once there is one. */
export interface Question {
  kind: "edit" | "command" | "choice";
  id: string;
  title: string;
  /** What is asked, in words. */
  heading: string;
  markdown: string;
  options: Option[];
  /** There are texts to compare. */
  hasDiff: boolean;
  decision?: string;
}

export type PickerId = "mode" | "model" | "thought_level" | "approvals";

export interface PickerButton {
  id: PickerId;
  label: string;
  /** What it is about, for a tooltip. */
  title: string;
}

/** What the page shows before anything was said. */
export interface Welcome {
  heading: string;
  words: string;
  examples: string[];
  /** How to get a model that answers; empty when there is one. */
  key: string;
  keyButton: string;
}

export interface State {
  /** What the user cannot do now, and why; empty when everything is fine. */
  problem: string;
  /** What the user chooses for the conversation, with the present value. */
  pickers: PickerButton[];
  /** How full the model's context is, and what the conversation has cost; all of it in the rows. */
  usage: string;
  usageRows: [name: string, value: string][];
  busy: boolean;
  /** What North does now, in words. */
  activity: string;
  /** How many questions wait for the user. */
  waiting: number;
  /** What runs or is written without a question; empty for nothing. */
  unasked: string;
  queued: string[];
  attachment: string;
  welcome: Welcome;
}

export type ToPage =
  | { type: "all"; items: Item[] }
  | { type: "item"; item: Item }
  | { type: "append"; id: string; markdown: string }
  | { type: "state"; state: State }
  | { type: "draft"; text: string }
  /** What was not sent comes back, before what is being written. */
  | { type: "giveBack"; text: string }
  /** The conversation to find again when the page is made anew. */
  | { type: "conversation"; id: string }
  | { type: "focus" };

export type FromPage =
  | { type: "ready" }
  | { type: "send"; text: string }
  | { type: "steer"; text: string }
  | { type: "retry"; now: boolean }
  | { type: "stop" }
  | { type: "detach" }
  | { type: "open"; file: string; line: number | null }
  | { type: "link"; address: string }
  | { type: "decide"; id: string; option: string; comment: string }
  | { type: "review"; id: string }
  /** The page has got the keyboard's focus. */
  | { type: "focused" }
  | { type: "pick"; picker: PickerId }
  | { type: "run"; command: PageCommand };

/** The commands that the page has buttons for. */
export const PAGE_COMMANDS = [
  "north.openSetting",
  "north.showLog",
  "north.restartServer",
  "north.showPermissions",
  "north.storeKey",
] as const;

export type PageCommand = (typeof PAGE_COMMANDS)[number];
