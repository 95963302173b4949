/** At the end of each turn that changed files: what it changed, to be seen and taken back; and the mark of what is taken
 * back by now. */

import * as vscode from "vscode";

import type { Session } from "../chat/session";
import type { Transcript } from "../chat/transcript";
import { reason } from "../common/logger";
import type { ChangesItem } from "../messages";
import type { TurnDiffs } from "./turnDiffs";
import { type Checkpoint, type ChangeState, type Turn, turnsOf, undoneCalls } from "./checkpoints";
import type { Questions } from "./questions";
import { nameOf } from "./names";
import { takeBack, undone } from "./undo";

export class Turns implements vscode.Disposable {
  private readonly listeners: vscode.Disposable[];
  private turns: Turn[] = [];
  /** The checkpoints of undos that were chosen here, by turn: taking them back is the redo. */
  private readonly undos = new Map<string, string>();
  private wasBusy = false;
  private begun = 0;
  /** The conversation whose rows are complete. */
  private loaded = "";
  /** The conversation is shown anew, without the rows of its turns. */
  private isStale = false;
  /** The turns of then, of which some are on branches that were left. */
  private earlier: ReadonlySet<string> = new Set();

  constructor(
    private readonly session: Session,
    private readonly transcript: Transcript,
    private readonly questions: Questions,
    private readonly before: TurnDiffs,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.listeners = [session.onState(() => this.follow()), session.onStoredId((id) => this.load(id)), undone.event(() => void this.refresh())];
  }

  dispose(): void {
    vscode.Disposable.from(...this.listeners).dispose();
  }

  /** What the user chooses in a row. */
  async act(id: string, act: ChangesItem["buttons"][number]["act"]): Promise<void> {
    const turn = this.turns.find((one) => rowOf(one) === id);
    if (turn === undefined) return;
    if (act === "show") return this.before.show(this.session, turn);
    if (act === "undo") {
      if (!(await takeBack(this.session, { turnId: turn.id }))) return;
      const undo = (await this.list()).findLast((one) => one.kind === "undo");
      if (undo !== undefined) this.undos.set(turn.id, undo.checkpointId);
    } else {
      const checkpointId = this.undos.get(turn.id);
      if (checkpointId === undefined || !(await takeBack(this.session, { checkpointId }))) return;
      this.undos.delete(turn.id);
    }
    await this.refresh();
  }

  /** The conversation is shown anew: its turns get their rows when all of it is there (`complete`). */
  async shownAnew(complete: boolean): Promise<void> {
    this.isStale = true;
    if (complete) await this.refresh();
  }

  private follow(): void {
    const { busy } = this.session;
    if (busy === this.wasBusy) return;
    this.wasBusy = busy;
    if (busy) this.begun = Date.now();
    else void this.refresh();
  }

  /** A stored conversation has been loaded, or this one is stored from now on. */
  private load(id: string): void {
    if (id === this.loaded) return;
    this.loaded = id;
    if (id !== "" && !this.session.busy) void this.refresh(true);
  }

  /** Brings the rows up to date. A turn gets its row when it has ended, or when it is `loaded`. */
  private async refresh(loaded = this.isStale): Promise<void> {
    if (this.session.busy || this.session.id === "") return;
    const isAnew = this.isStale;
    this.isStale = false;
    let checkpoints: Checkpoint[];
    try {
      checkpoints = await this.list();
    } catch (error) {
      this.log.debug(reason(error)); // a server that keeps none
      return;
    }
    this.turns = turnsOf(checkpoints);
    if (isAnew) this.earlier = new Set(this.turns.map((turn) => turn.id));
    if (loaded && this.turns.length > 0) this.transcript.putAtEnds(new Map(this.turns.map((turn) => [turn.id, this.row(turn)])));
    for (const turn of this.turns) {
      const known = this.transcript.get(rowOf(turn));
      const isNew = turn === this.turns.at(-1) && !this.earlier.has(turn.id) && Date.parse(turn.at) >= this.begun - 1_000;
      const row = this.row(turn);
      if ((known !== undefined || isNew) && JSON.stringify(known) !== JSON.stringify(row)) this.transcript.put(row);
    }
    for (const [call, standing] of undoneCalls(checkpoints)) {
      this.transcript.mark(call, note(standing));
      this.mark(call, note(standing));
    }
  }

  private async list(): Promise<Checkpoint[]> {
    const { checkpoints } = await this.session.ask<{ checkpoints: Checkpoint[] }>("_north/checkpoints/list", {});
    return checkpoints;
  }

  /** Notes beside the user's decision what became of the edit since. */
  private mark(call: string, what: string): void {
    const row = this.questions.decisionOf(call);
    const shown = row === undefined ? undefined : this.transcript.get(row.id);
    if (row === undefined || shown === undefined || !("decision" in shown)) return;
    const decision = what === "" ? row.decision : `${row.decision} — ${what}`;
    if (shown.decision !== decision) this.transcript.put({ ...row, decision });
  }

  private row(turn: Turn): ChangesItem {
    const { paths, added, removed, standing } = turn;
    const files = paths.length === 1 ? vscode.l10n.t("Changed 1 file") : vscode.l10n.t("Changed {0} files", paths.length);
    const buttons: ChangesItem["buttons"] = [];
    if (standing !== "undone") {
      buttons.push({ act: "show", text: vscode.l10n.t("Show Changes") }, { act: "undo", text: vscode.l10n.t("Undo") });
    } else if (this.undos.has(turn.id)) buttons.push({ act: "redo", text: vscode.l10n.t("Redo") });
    return {
      kind: "changes",
      id: rowOf(turn),
      text: `${files}  +${added} −${removed}`,
      note: note(standing),
      files: paths.map((path) => ({ path, name: nameOf(path) })),
      buttons,
    };
  }
}

function rowOf(turn: Turn): string {
  return `changes:${turn.id}`;
}

function note(standing: ChangeState): string {
  if (standing === "stands") return "";
  return standing === "undone" ? vscode.l10n.t("undone") : vscode.l10n.t("undone in part");
}
