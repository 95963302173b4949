/** What North tells in answer to requests of its own: its extension of the protocol. */

/** Files to write to the disk, whose texts an accepted edit has changed and nobody else. North's extension. */
export interface SaveParams {
  files: { uri: string; version: number }[];
}

export interface SaveResult {
  saved: string[];
  failed: { uri: string; reason: string }[];
}

/** What runs or is written without a question. North's extension. */
export interface Permission {
  id: string;
  allows: string;
  origin: "user" | "session" | "project";
  since?: string;
}

/** The end of the server's log. North's extension. */
export interface LogEnd {
  path: string;
  lines: string[];
}

/** A part of what North keeps on the disk; `size` in bytes. North's extension. */
export interface KeptArea {
  id: string;
  title: string;
  size: number;
  count: number;
  freedBy: string;
}

export interface KeptData {
  data: string;
  state: string;
  areas: KeptArea[];
}

/** A stored conversation, as it stands in a list. North's extension. */
export interface SessionRow {
  sessionId: string;
  name?: string | null;
  updatedAt?: string | null;
  cwd?: string;
  messageCount?: number;
  model?: string | null;
  costUsd?: number;
  archived?: boolean;
  /** Only in the trash. */
  deletedAt?: string;
  /** Where the words stand that were looked for. */
  match?: { place: string; snippet: string };
}

export interface SessionList {
  sessions: SessionRow[];
  /** Not all of them could be searched in time. */
  truncated?: boolean;
}

/** The prompts sent before, the newest first. North's extension. */
export interface PromptList {
  prompts: { text: string }[];
}

/** A place of a conversation. North's extension. */
export interface TreeNode {
  id: string;
  parentId: string | null;
  depth: number;
  kind: string;
  role?: string;
  text: string;
  label?: string;
  timestamp: string;
  onPath: boolean;
  isLeaf: boolean;
}

/** What a conversation is to reach, and by which workflow; what the user can decide about it. North's extension. */
export interface Work {
  goal: Goal | null;
  workflow: Workflow | null;
  decisions: WorkDecision[];
}

export interface Goal {
  statement: string;
  status: "active" | "blocked" | "complete";
  blocked?: string;
  criteria: { id: string; text: string; state: "open" | "met" | "stale" | "failed"; command?: string; evidence?: { text: string; at: string } }[];
}

export interface Workflow {
  name: string;
  folder: string;
  phase: string;
  phases: { name: string; state: "done" | "now" | "ahead" }[];
  note?: string;
  /** Why edits and commands are refused, which commands if only those are, and how much its phase may still look and ask. */
  held?: { why: string; spent?: string[]; callsLeft?: number; roundsLeft?: number };
}

/** `prompt` does it. */
export interface WorkDecision {
  id: "continue" | "confirm" | "stop" | "drop";
  title: string;
  prompt: string;
  criterion?: string;
  consequence?: string;
}
