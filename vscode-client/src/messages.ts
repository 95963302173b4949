/** What the extension and the chat's page say to each other. */

import type { TodoPhase, Work } from "./acp";
import type { FormValues } from "./forms";
import type { ChangesItem, FailureAction, Item } from "./items";

export type * from "./items";

export type PickerId = "mode" | "model" | "thought_level" | "approvals";

export interface PickerButton {
  id: PickerId;
  label: string;
  /** What it is about, for a tooltip. */
  title: string;
}

/** What the page shows before anything was said, in words of the extension. */
export interface Welcome {
  heading: string;
  words: string;
  examplesHeading: string;
  /** A click puts one into the input. */
  examples: string[];
  setupHeading: string;
  setup: SetupRow[];
  more: Remedy;
}

export interface SetupRow {
  id: "trust" | "key" | "model";
  done: boolean;
  /** Whether it is done, for those who do not see the mark. */
  state: string;
  words: string;
  remedy: Remedy;
}

/** A button that runs a command. */
export interface Remedy {
  command: PageCommand;
  label: string;
}

export interface State {
  /** What the user cannot do now, and why; empty when everything is fine. */
  problem: string;
  /** The ways out of the problem. */
  remedies: Remedy[];
  /** Nothing has failed: North waits for the user. */
  calm: boolean;
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
  permittedSummary: string;
  queued: QueuedRow[];
  /** What is to be done in the conversation. */
  todo: TodoPhase[];
  /** What it is to reach, and by which workflow. */
  work: Work;
  elsewhere: ElsewhereBanner | undefined;
  /** There is no conversation yet. */
  starting: Starting | undefined;
  /** What is sent next takes the place of an earlier message. */
  editing: boolean;
  welcome: Welcome;
}

/** North starts; what can be done when that takes long. */
export interface Starting {
  text: string;
  remedies: Remedy[];
}

/** What the user has sent from the page, by an id of the page's own. */
export interface Sent {
  id: string;
  text: string;
}

/** A message that waits. Without an `id` the server has not told of it yet, and it can only wait. */
export interface QueuedRow {
  id: string;
  text: string;
  /** For the turn that runs, not for its end: it has no place among the others. */
  steers: boolean;
}

export const TASK_ACTS = ["open", "cancel"] as const;
export type TaskAct = (typeof TASK_ACTS)[number];

export const QUEUE_ACTS = ["edit", "remove", "earlier", "later"] as const;
export type QueueAct = (typeof QUEUE_ACTS)[number];

/** Another editor has the conversation open; what the user can do about it. */
export interface ElsewhereBanner {
  text: string;
  buttons: { act: ElsewhereAct; label: string }[];
}

export type ElsewhereAct = "takeOver" | "fork";

export type ChipKind = "selection" | "file" | "folder" | "problems" | "terminal" | "diff" | "picture" | "text";

/** Something that goes with the next message. */
export interface Chip {
  id: string;
  kind: ChipKind;
  label: string;
  /** What it is, in words. */
  title: string;
}

export interface SlashCommand {
  name: string;
  description: string;
  /** What stands behind it; empty for nothing. */
  hint: string;
}

export const SOURCE_NAMES = ["selection", "file", "problems", "all-problems", "terminal", "diff"] as const;
/** What VS Code knows and an `@` can name. */
export type SourceName = (typeof SOURCE_NAMES)[number];

/** A name that a language server knows; `place` is where it stands, in words. */
export interface FoundSymbol {
  id: string;
  name: string;
  place: string;
}

/** What can follow a slash command. */
export interface FoundValue {
  value: string;
  /** What it is, in words. */
  detail: string;
}

/** Commands whose values are known. */
export const COMPLETED_COMMANDS = ["config", "mode", "model", "thinking"] as const;

/** What can be mentioned by its kind and name, such as a rule. */
export interface FoundName {
  name: string;
  detail: string;
}

export interface FoundPath {
  path: string;
  kind: "file" | "folder";
}

/** What the input offers and what goes with the next message. */
export interface ComposerState {
  chips: Chip[];
  /** What is selected in the editor, and its file, which are attached when the user wants it: by their sources' names. */
  suggested: (Chip & { id: "selection" | "file" })[];
  commands: SlashCommand[];
}

export type ToPage =
  | { type: "all"; items: Item[] }
  | { type: "item"; item: Item }
  | { type: "append"; id: string; markdown: string }
  | { type: "state"; state: State }
  /** What was not sent comes back, before what is being written. */
  | { type: "restoreUnsent"; text: string }
  /** The conversation has what was sent, or the user has it again: the page need not remember it any more. */
  | { type: "settled"; ids: string[] }
  /** What was being written in the page before, in another place of the window. */
  | { type: "draft"; text: string }
  /** The conversation to find again when the page is made anew. */
  | { type: "conversation"; id: string }
  | { type: "composer"; state: ComposerState }
  /** A picture of a file, for the page to bring to the size that models take. */
  | { type: "loadPicture"; mimeType: string; data: string }
  /** What was sent before in this folder, the oldest first. */
  | { type: "history"; prompts: string[] }
  | { type: "paths"; request: number; paths: FoundPath[]; names: FoundName[]; symbols: FoundSymbol[]; isIncomplete: boolean }
  | { type: "values"; request: number; values: FoundValue[] }
  /** Names that the page has asked about, and those of them that lead somewhere. */
  | { type: "symbols"; asked: string[]; found: string[] }
  | { type: "focus" };

export type FromPage =
  /** With what was sent before this page was made, as far as the page does not know what has become of it. */
  | { type: "ready"; unsettled: Sent[] }
  | ({ type: "send" } & Sent)
  | ({ type: "steer" } & Sent)
  /** What is being written. */
  | { type: "draft"; text: string }
  | { type: "retry"; now: boolean }
  | { type: "stop" }
  | { type: "detach"; id: string }
  | { type: "attach" }
  | { type: "attachSource"; source: SourceName }
  | { type: "attachPath"; path: string }
  | { type: "attachSymbol"; id: string }
  | { type: "attachUris"; uris: string[] }
  | { type: "picture"; id: string; mimeType: string; data: string; width: number; height: number }
  | { type: "complete"; request: number; query: string }
  /** What can follow a slash command and the words behind it? */
  | { type: "completeValue"; request: number; command: string; before: string[] }
  /** The user looks back at what was sent before. */
  | { type: "history" }
  | { type: "open"; file: string; line: number | null }
  | { type: "link"; address: string }
  /** A place that an answer names: looked for in the open folders. */
  | { type: "place"; path: string; line: number | null }
  /** A name that an answer has: the language servers know where it is. */
  | { type: "symbol"; name: string }
  /** Names in answers: which of them do the language servers know? */
  | { type: "symbols"; names: string[] }
  /** What an applied edit changed, in the diff editor: the part of a tool call. */
  | { type: "diff"; id: string; part: number }
  | { type: "code"; what: CodeUse; text: string; name: string; language: string }
  | { type: "failure"; action: FailureAction }
  /** `command`: what is to run instead of what was asked. */
  | { type: "decide"; id: string; option: string; comment: string; command?: string }
  /** A form is answered. */
  | { type: "fill"; id: string; values: FormValues }
  | { type: "review"; id: string }
  /** What the user does with an earlier message, by its entry. */
  | { type: "prompt"; entry: string; act: PromptAct }
  | { type: "stopEditing" }
  /** What the user does with a message that waits. */
  | { type: "queue"; id: string; act: QueueAct }
  | { type: "changes"; id: string; act: ChangesItem["buttons"][number]["act"] }
  /** What the user does with the task of an agent. */
  | { type: "task"; task: string; act: TaskAct }
  /** What the user decides about the goal or the workflow: the `prompt` of one of the decisions that there are. */
  | { type: "work"; prompt: string }
  /** What a summary took the place of. */
  | { type: "replaced"; compaction: string }
  | { type: "wholeOutput"; artifact: string }
  | { type: "elsewhere"; act: ElsewhereAct }
  /** The page has got the keyboard's focus. */
  | { type: "focused" }
  | { type: "blurred" }
  | { type: "pick"; picker: PickerId }
  | { type: "run"; command: PageCommand };

/** What can be done with a block of code. `terminal` types it there, and runs nothing; `diagram` draws what is one. */
export const CODE_USES = ["copy", "insert", "apply", "terminal", "diagram"] as const;
export type CodeUse = (typeof CODE_USES)[number];

export const PROMPT_ACTS = ["edit", "rewind", "branch"] as const;
export type PromptAct = (typeof PROMPT_ACTS)[number];

/** The commands that the page has buttons for. */
export const PAGE_COMMANDS = [
  "north.openSetting",
  "north.showLog",
  "north.restartServer",
  "north.showPermissions",
  "north.storeKey",
  "north.switchModel",
  "north.installServer",
  "north.choosePython",
  "north.manageTrust",
  "north.openFolder",
  "north.openWalkthrough",
  "north.showTerminal",
  "north.editTodo",
  "north.editGoal",
] as const;

export type PageCommand = (typeof PAGE_COMMANDS)[number];
