/** The part of the Agent Client Protocol (version 1) that this client uses, as the server sends it. */

import type { FormValues } from "./forms";
import type { Goal, WorkDecision, Workflow } from "./north";

export type * from "./north";

export interface TextContent {
  type: "text";
  text: string;
}

export interface ResourceContent {
  type: "resource";
  resource: { uri: string; text: string };
}

/** A file that the server reads. */
export interface ResourceLink {
  type: "resource_link";
  uri: string;
  name: string;
}

export interface ImageContent {
  type: "image";
  mimeType: string;
  /** Base64. */
  data: string;
}

export type PromptBlock = TextContent | ResourceContent | ResourceLink | ImageContent;

export interface Diff {
  type: "diff";
  path: string;
  oldText?: string | null;
  newText: string;
  /** `preview`: it is still being written, and the texts are the place at `line` only. North's extension. */
  _meta?: { north?: { kind?: "delete" | "rename"; oldPath?: string; preview?: boolean; line?: number } } | null;
}

export type ToolContent = { type: "content"; content: { type: string; text?: string } } | { type: "terminal"; terminalId: string } | Diff;

export type ToolStatus = "pending" | "in_progress" | "completed" | "failed";

export interface ToolCall {
  toolCallId: string;
  title?: string | null;
  kind?: string | null;
  status?: ToolStatus | null;
  content?: ToolContent[] | null;
  locations?: { path: string; line?: number | null }[] | null;
  rawInput?: { [name: string]: unknown; command?: unknown } | null;
  _meta?: { north?: CallMeta } | null;
}

/** North's extension of the protocol. */
export interface CallMeta {
  /** It counts down to the next attempt to reach the model. */
  retry?: { attempt?: number; maxAttempts?: number; remainingMs?: number; reason?: string; kind?: string };
  /** Calls that look, one after the other, have the same one. */
  group?: string;
  /** Of a command that has ended. */
  exitCode?: number;
  /** The model got a part of the result. */
  truncation?: { totalLines?: number; outputLines?: number; artifactId?: string };
  /** What agents do for it: rows, which are looked at before they are shown. */
  tasks?: unknown;
}

/** A part of the todo list. North's extension: plans of other servers have no phases. */
export interface TodoPhase {
  name: string;
  /** `isHidden`: it has been closed for a while. That is the client's own. */
  tasks: { content: string; status: "pending" | "in_progress" | "completed" | "abandoned"; isHidden?: boolean }[];
}

export interface PlanRow {
  content: string;
  status?: "pending" | "in_progress" | "completed";
}

export type Update =
  | {
      sessionUpdate: "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk";
      content: { type: string; text?: string };
      messageId?: string;
      /** Why there is no complete answer. North's extension. */
      _meta?: { north?: { failure?: { text: string; kind?: string } } } | null;
    }
  | { sessionUpdate: "plan"; entries: PlanRow[]; _meta?: { north?: { phases?: TodoPhase[]; clearAfterSeconds?: number } } | null }
  | ({ sessionUpdate: "tool_call" | "tool_call_update" } & ToolCall)
  | { sessionUpdate: "current_mode_update"; currentModeId: string }
  | { sessionUpdate: "session_info_update"; title?: string | null }
  | { sessionUpdate: "config_option_update"; configOptions?: ConfigOption[] | null }
  | { sessionUpdate: "available_commands_update"; availableCommands: AvailableCommand[] }
  | ({ sessionUpdate: "usage_update" } & Usage)
  | ({ sessionUpdate: "compaction_update" } & Compaction)
  /** `stopped`: it is not North's, but what the user did. North's extension. */
  | { sessionUpdate: "notice"; severity: string; title: string; _meta?: { north?: { stopped?: boolean } } | null };

/** The older part of the conversation is summarized for the model. */
export interface Compaction {
  compactionId: string;
  status: "in_progress" | "completed" | "failed" | "cancelled";
  summary?: { type: string; text?: string }[] | null;
  error?: string | null;
  _meta?: { north?: { reason?: string; tokensBefore?: number; tokensAfter?: number; written?: number; read?: string[]; modified?: string[] } } | null;
}

export interface AvailableCommand {
  name: string;
  description: string;
  input?: { hint: string } | null;
}

export interface UpdateParams {
  sessionId: string;
  update: Update;
}

export interface PermissionOption {
  optionId: string;
  name: string;
  kind: "allow_once" | "allow_always" | "reject_once" | "reject_always";
  /** `scope`: what it allows beyond this once, in words. North's extension of the protocol. */
  _meta?: { north?: { scope?: string } } | null;
}

/** What is asked: an edit (also one without any text to compare), a command, or something else. North's extension. */
export interface QuestionMeta {
  kind: "edit" | "command" | "choice";
  /** In words, on one line. */
  text: string;
}

export interface ChangedFile {
  path: string;
  kind?: "create" | "update" | "delete" | "rename";
  /** Of a file that is moved. */
  oldPath?: string;
  hunks: Hunk[];
}

/** Where a hunk stands in the old and in the proposed text; lines count from 1. North's extension of the protocol. */
export interface Hunk {
  id: string;
  oldStart: number;
  oldLines: number;
  newStart: number;
  newLines: number;
}

export interface PermissionParams {
  sessionId: string;
  toolCall: ToolCall;
  options: PermissionOption[];
  _meta?: { north?: { files?: ChangedFile[]; question?: QuestionMeta } } | null;
}

/** What goes with a decision: for each file of an accepted edit the hunks that stand, or the text that the user made of
 * it; and the user's word to the model. */
export interface Parts {
  hunks?: Record<string, string[]>;
  texts?: Record<string, string>;
  comment?: string;
  /** What runs instead of the command that was asked about. */
  command?: string;
  /** Of a form; the server gets them as an answer of their own. */
  values?: FormValues;
  /** It holds for this conversation: an accepted edit for those that follow, "run all" for commands. */
  scope?: "session";
}

export interface PermissionResult {
  outcome: { outcome: "cancelled" } | { outcome: "selected"; optionId: string };
  _meta?: { north: Parts };
}

export interface Mode {
  id: string;
  name: string;
  description?: string | null;
}

export interface Choice {
  value: string;
  name: string;
  description?: string | null;
}

/** Something about the conversation that the user chooses: mode, model, how much it thinks, what is asked. */
export interface ConfigOption {
  id: string;
  name: string;
  currentValue: string;
  options: Choice[];
}

export interface SessionState {
  modes?: { currentModeId: string; availableModes: Mode[] } | null;
  configOptions?: ConfigOption[] | null;
  _meta?: Unsent | null;
}

export interface PromptResult {
  stopReason: string;
  _meta?: Unsent | null;
}

/** Prompts that were queued and will not be sent, whether the prompt itself is not part of the conversation and nothing of it
 * was run (`unsent`), whether the model failed, a turn that an earlier process left, and who else has the conversation open.
 * North's extension. */
export interface Unsent {
  north?: { unsent?: boolean; queued?: { id: string; text: string }[]; error?: { kind?: string }; unfinished?: object; endedEarly?: boolean; openElsewhere?: OpenElsewhere };
}

/** Another process that writes the conversation; `leaving`: its window is gone, and it only ends what it had begun. */
export interface OpenElsewhere {
  pid: number;
  client: string;
  leaving: boolean;
  state?: string;
}

/** How full the context is, and what the conversation has used; the counts beside it are North's extension. */
export interface Usage {
  used: number;
  size: number;
  cost?: { amount: number; currency: string } | null;
  _meta?: { north?: UsageCounts } | null;
}

export interface UsageCounts {
  tokens?: number;
  input?: number;
  output?: number;
  cacheRead?: number;
  cacheWrite?: number;
  allTimeCostUsd?: number;
  /** A model was used whose price nobody knows. */
  priced?: boolean;
  estimated?: boolean;
}

/** What ACP does not tell. North's extension. */
export interface NorthEvent {
  sessionId: string;
  event: string;
  reason?: string;
  by?: OpenElsewhere | null;
  unfinished?: object;
  queued?: { id: string; text: string }[];
  /** The entry of the prompt whose turn begins or ends. */
  turnId?: string;
  /** The prompts that wait: for the turn that runs, and for its end. */
  steer?: { id: string; text: string }[];
  followUp?: { id: string; text: string }[];
  /** What belongs in the input again. */
  prompt?: PromptBlock[];
  /** The conversation that is to be shown, a copy for example: null for a new one. */
  conversationId?: string | null;
  cwd?: string;
  /** A document of North's that the user wants to edit. */
  path?: string;
  /** The goal and the workflow, each time all of it. */
  goal?: Goal | null;
  workflow?: Workflow | null;
  decisions?: WorkDecision[];
}

export const CANCELLED: PermissionResult = { outcome: { outcome: "cancelled" } };

export function diffsOf(call: ToolCall): Diff[] {
  return (call.content ?? []).filter((content) => content.type === "diff");
}

/** The Markdown of a tool call's texts. */
export function textsOf(call: ToolCall): string[] {
  return (call.content ?? []).flatMap((content) =>
    content.type === "content" && content.content.text !== undefined ? [content.content.text] : [],
  );
}
