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
