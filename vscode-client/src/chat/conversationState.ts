/** How a conversation stands: its title, what is chosen for it, what is allowed in it, what it has used. */

import * as vscode from "vscode";

import type { ConfigOption, Mode, OpenElsewhere, Permission, SessionState, TodoPhase, Update, Usage, Work } from "../acp";
import { isCalm, remediesOf } from "../common/problems";
import { reason } from "../common/logger";
import type { Remedy } from "../messages";
import type { SlashCommand } from "../messages";
import { TodoList } from "./todoList";

export type Phase = "" | "server" | "conversation";

const NO_WORK: Work = { goal: null, workflow: null, decisions: [] };

export abstract class ConversationState implements vscode.Disposable {
  /** What the user cannot do now, and why; empty when everything is fine. */
  problem = "";
  /** The ways out of it. */
  remedies: Remedy[] = [];
  /** It is no failure: North waits for the user. */
  calm = false;
  /** What it takes to open it is being done: the server starts (and is installed first), the conversation is loaded. */
  phase: Phase = "";
  title = "";
  modes: Mode[] = [];
  modeId = "";
  /** As the server tells it. */
  options: ConfigOption[] = [];
  usage: Usage | undefined;
  /** What it is to reach, and by which workflow. */
  work: Work = NO_WORK;
  /** The slash commands that the server offers. */
  commands: SlashCommand[] = [];
  /** What runs or is written without a question. */
  permissions: Permission[] = [];
  /** Another North that has it open: it is followed here. */
  elsewhere: OpenElsewhere | undefined;
  /** The user wants to go on with it here. */
  isTaking = false;
  protected readonly stateChanged = new vscode.EventEmitter<void>();
  private readonly todoList = new TodoList(() => this.stateChanged.fire());
  private readonly titleChanged = new vscode.EventEmitter<string>();
  private readonly permissionsChanged = new vscode.EventEmitter<Permission[]>();

  readonly onState = this.stateChanged.event;
  readonly onTitle = this.titleChanged.event;
  readonly onPermissions = this.permissionsChanged.event;

  dispose(): void {
    vscode.Disposable.from(this.todoList, this.stateChanged, this.titleChanged, this.permissionsChanged).dispose();
  }

  /** What is to be done in it. */
  get todo(): TodoPhase[] {
    return this.todoList.shown;
  }

  get modeName(): string {
    return this.modes.find((mode) => mode.id === this.modeId)?.name ?? this.modeId;
  }

  abstract get id(): string;
  abstract isCurrent(sessionId: string): boolean;
  abstract ask<Result>(method: string, params: object, token?: vscode.CancellationToken): Promise<Result>;

  /** Looks again at what is allowed: it changes with a decision, with a slash command, and in another window. */
  async askPermissions(): Promise<void> {
    const { id } = this;
    if (id === "") return;
    // None also of a server that does not know it, or answers nothing.
    const answer = await this.ask<{ permissions: Permission[] } | null>("_north/permissions/list", {}).catch(() => null);
    if (this.isCurrent(id)) this.setPermissions((answer?.permissions ?? []).filter((one) => one.origin !== "project"));
  }

  setTodo(phases: TodoPhase[], clearAfterSeconds?: number): void {
    this.todoList.set(phases, clearAfterSeconds);
  }

  setWork({ goal = null, workflow = null, decisions = [] }: Partial<Work>): void {
    this.work = { goal, workflow, decisions };
    this.stateChanged.fire();
  }

  protected takeState({ modes, configOptions }: SessionState): void {
    this.modes = modes?.availableModes ?? this.modes;
    this.modeId = modes?.currentModeId ?? this.modeId;
    this.options = configOptions ?? this.options;
    this.stateChanged.fire();
  }

  /** Whether the update was about this. */
  protected takeUpdate(update: Update): boolean {
    switch (update.sessionUpdate) {
      case "current_mode_update":
        this.modeId = update.currentModeId;
        break;
      case "plan":
        this.setTodo(update._meta?.north?.phases ?? [], update._meta?.north?.clearAfterSeconds);
        return false; // the transcript shows it, too
      case "usage_update":
        this.usage = update;
        break;
      case "config_option_update":
        this.options = update.configOptions ?? this.options;
        break;
      case "available_commands_update":
        this.commands = update.availableCommands.map(({ name, description, input }) => ({ name, description, hint: input?.hint ?? "" }));
        break;
      case "session_info_update":
        this.setTitle(update.title ?? "");
        return true;
      default:
        return false;
    }
    this.stateChanged.fire();
    return true;
  }

  protected setElsewhere(by: OpenElsewhere | undefined): void {
    this.elsewhere = by;
    this.stateChanged.fire();
  }

  /** While it is taken over from another North. */
  async take(done: Promise<unknown>): Promise<void> {
    this.isTaking = true;
    this.stateChanged.fire();
    try {
      await done;
    } finally {
      this.isTaking = false;
      this.stateChanged.fire();
    }
  }

  protected setPermissions(permissions: Permission[]): void {
    this.permissions = permissions;
    this.permissionsChanged.fire(permissions);
    this.stateChanged.fire();
  }

  protected setPhase(phase: Phase): void {
    if (this.phase === phase) return;
    this.phase = phase;
    this.stateChanged.fire();
  }

  protected setProblem(error: unknown): void {
    this.problem = reason(error);
    this.remedies = remediesOf(error);
    this.calm = isCalm(error);
    this.stateChanged.fire();
  }

  protected reset(): void {
    this.phase = "";
    this.modeId = "";
    this.options = [];
    this.usage = undefined;
    this.todoList.set([]);
    this.work = NO_WORK;
    this.elsewhere = undefined;
    this.setTitle("");
    this.setPermissions([]);
  }

  private setTitle(title: string): void {
    this.title = title;
    this.titleChanged.fire(title);
  }
}
