/** What a conversation has changed, by turn. Knows no editor. */

export interface CheckpointFile {
  path: string;
  newPath?: string;
  linesAdded: number;
  linesRemoved: number;
  undone: boolean;
}

/** North's extension of the protocol: the state before an applied edit. */
export interface Checkpoint {
  checkpointId: string;
  kind: "edit" | "undo" | "redo" | "point";
  title: string;
  at: string;
  /** The message id of the prompt. */
  turnId?: string;
  toolCallId?: string;
  files: CheckpointFile[];
}

/** Whether what was changed is still so. */
export type ChangeState = "stands" | "undone" | "partly";

export interface Turn {
  id: string;
  /** Its first checkpoint: the state before it. */
  first: string;
  /** When it last changed something. */
  at: string;
  /** Absolute paths, as they are called now. */
  paths: string[];
  added: number;
  removed: number;
  standing: ChangeState;
}

/** The turns that changed something, the oldest first. */
export function turnsOf(checkpoints: Checkpoint[]): Turn[] {
  const turns = new Map<string, Checkpoint[]>();
  for (const one of checkpoints) {
    if (one.kind !== "edit" || one.turnId === undefined || one.files.length === 0) continue;
    turns.set(one.turnId, [...(turns.get(one.turnId) ?? []), one]);
  }
  return [...turns].map(([id, edits]): Turn => {
    const files = edits.flatMap((edit) => edit.files);
    const sum = (count: (file: CheckpointFile) => number): number => files.reduce((all, file) => all + count(file), 0);
    return {
      id,
      first: edits[0]?.checkpointId ?? "",
      at: edits.at(-1)?.at ?? "",
      paths: [...new Set(files.map((file) => file.newPath ?? file.path))],
      added: sum((file) => file.linesAdded),
      removed: sum((file) => file.linesRemoved),
      standing: standingOf(files),
    };
  });
}

/** By the calls that made them, whether the edits are taken back. */
export function undoneCalls(checkpoints: Checkpoint[]): Map<string, ChangeState> {
  const calls = new Map<string, ChangeState>();
  for (const { kind, toolCallId, files } of checkpoints) {
    if (kind === "edit" && toolCallId !== undefined && files.length > 0) calls.set(toolCallId, standingOf(files));
  }
  return calls;
}

function standingOf(files: CheckpointFile[]): ChangeState {
  const undone = files.filter((file) => file.undone).length;
  return undone === 0 ? "stands" : undone === files.length ? "undone" : "partly";
}
