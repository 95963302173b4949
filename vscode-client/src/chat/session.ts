/** One conversation with the server: prompts, stopping, modes, and finding back after a crash. */

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import type { Mode, Permission, PromptBlock, PromptResult, ResourceContent, ResourceLink, SessionState, UpdateParams } from "../acp";
import { reason } from "../common/logger";
import type { Server } from "../common/server";
import { furtherFolders, mainFolder } from "../common/settings";
import type { Questions } from "../review/questions";
import type { Transcript } from "./transcript";

export interface Attachment {
  label: string;
  block: ResourceContent | ResourceLink;
}

interface Prompt {
  text: string;
  attachment: Attachment | undefined;
  /** Its turn has come: it is part of the conversation. */
  begun: boolean;
}

export class Session implements vscode.Disposable {
  problem = "";
  modes: Mode[] = [];
  modeId = "";
  title = "";
  usage = "";
  /** What runs or is written without a question. */
  permissions: Permission[] = [];
  private id = "";
  private opening: Promise<LanguageClient> | undefined;
  /** Sent and not yet answered; the first one is being worked on. */
  private prompts: Prompt[] = [];
  private stops = 0;
  private readonly stateChanged = new vscode.EventEmitter<void>();
  private readonly titled = new vscode.EventEmitter<string>();
  private readonly permitted = new vscode.EventEmitter<Permission[]>();
  private readonly elsewhere = new vscode.EventEmitter<UpdateParams>();
  private readonly listeners: vscode.Disposable[];

  readonly onState = this.stateChanged.event;
  readonly onTitle = this.titled.event;
  readonly onPermissions = this.permitted.event;
  /** What the server says about a conversation that is not this one. */
  readonly onElsewhere = this.elsewhere.event;

  constructor(
    private readonly server: Server,
    private readonly transcript: Transcript,
    private readonly questions: Questions,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.listeners = [
      server.onCrash((again) => void this.afterCrash(again)),
      questions.onChange(() => this.stateChanged.fire()),
      this.stateChanged,
      this.titled,
      this.permitted,
      this.elsewhere,
    ];
  }

  dispose(): void {
    vscode.Disposable.from(...this.listeners).dispose();
  }

  get busy(): boolean {
    return this.prompts.length > 0;
  }

  get waiting(): boolean {
    return this.questions.open.length > 0;
  }

  get queued(): string[] {
    return this.prompts.slice(1).map((prompt) => prompt.text);
  }

  get modeName(): string {
    return this.modes.find((mode) => mode.id === this.modeId)?.name ?? this.modeId;
  }

  /** Listens on a client's connection, before it starts. */
  listen(client: LanguageClient): void {
    client.onNotification("session/update", (params: UpdateParams) => this.update(params));
  }

  isCurrent(sessionId: string): boolean {
    return sessionId === this.id;
  }

  /** A client with this conversation open in its server. Throws with the reason, which the panel shows as well. */
  open(): Promise<LanguageClient> {
    this.opening ??= this.openNow().catch((error: unknown) => {
      this.opening = undefined;
      this.fail(reason(error));
      throw error;
    });
    return this.opening;
  }

  async send(text: string, attachment: Attachment | undefined): Promise<void> {
    const client = await this.open();
    const sessionId = this.id;
    const prompt = { text, attachment, begun: false };
    this.prompts.push(prompt);
    this.beginNext();
    const blocks: PromptBlock[] = [{ type: "text", text }, ...(attachment ? [attachment.block] : [])];
    try {
      // During a turn it waits: words for the turn itself are steered.
      const _meta = { north: { behavior: "followUp" } };
      const params = { sessionId, prompt: blocks, _meta };
      const { stopReason } = await client.sendRequest<PromptResult>("session/prompt", params);
      if (this.isCurrent(sessionId)) this.ended(prompt, stopReason);
    } catch (error) {
      // A crash is dealt with as a whole, not by each of its prompts.
      if (this.isCurrent(sessionId) && this.server.running === client) this.transcript.note("error", reason(error));
    }
    this.prompts = this.prompts.filter((other) => other !== prompt);
    this.beginNext();
    void this.askPermissions();
  }

  /** Words for the turn that runs, delivered between two of its steps; a prompt of their own if it ends before. */
  async steer(text: string): Promise<void> {
    if (!this.busy) return this.send(text, undefined);
    const { id, stops } = this;
    const prompt = [{ type: "text", text }];
    const { delivered } = await this.ask<{ delivered: boolean }>("_north/steer", { prompt }).catch((error: unknown) => {
      this.log.debug(reason(error)); // the turn has ended in the meantime
      return { delivered: false };
    });
    if (!this.isCurrent(id)) return;
    if (delivered) this.transcript.say(text);
    else if (stops === this.stops) await this.send(text, undefined);
    else this.transcript.note("info", `Not sent: ${text}`);
  }

  /** One of North's own requests about this conversation. Throws with the server's reason. */
  async ask<Result>(method: string, params: object): Promise<Result> {
    const client = await this.open();
    return client.sendRequest<Result>(method, { sessionId: this.id, ...params });
  }

  /** Looks again at what is allowed: it changes with a decision, with a slash command, and in another window. */
  async askPermissions(): Promise<void> {
    const { id } = this;
    if (id === "") return;
    const { permissions } = await this.ask<{ permissions: Permission[] }>("_north/permissions/list", {}).catch((error: unknown) => {
      this.log.debug(reason(error)); // a server that does not know it
      return { permissions: [] };
    });
    if (this.isCurrent(id)) this.setPermissions(permissions.filter((one) => one.origin !== "project"));
  }

  async stop(): Promise<void> {
    if (this.id === "") return;
    this.stops += 1;
    await this.server.running?.sendNotification("session/cancel", { sessionId: this.id });
    this.questions.cancelAll();
  }

  async setMode(modeId: string): Promise<void> {
    const client = await this.open();
    await client.sendRequest("session/set_mode", { sessionId: this.id, modeId });
    this.modeId = modeId;
    this.stateChanged.fire();
  }

  /** Leaves this conversation (a running turn is stopped) and begins another. */
  async renew(): Promise<void> {
    const old = this.id;
    const client = this.server.running;
    this.forget();
    this.transcript.clear();
    if (client !== undefined && old !== "") {
      await client.sendRequest("session/close", { sessionId: old }).catch((error: unknown) => this.log.debug(reason(error)));
    }
    await this.open();
  }

  async restart(): Promise<void> {
    const old = this.id;
    this.forget();
    await this.server.stop();
    await this.reopen(old);
  }

  private setPermissions(permissions: Permission[]): void {
    this.permissions = permissions;
    this.permitted.fire(permissions);
    this.stateChanged.fire();
  }

  private forget(): void {
    this.id = "";
    this.setPermissions([]);
    this.opening = undefined;
    this.prompts = [];
    this.modeId = "";
    this.usage = "";
    this.questions.cancelAll();
    this.setTitle("");
    this.stateChanged.fire();
  }

  private async openNow(): Promise<LanguageClient> {
    const client = await this.connect();
    const answer = await client.sendRequest<SessionState & { sessionId: string }>("session/new", where());
    this.id = answer.sessionId;
    this.opened(answer);
    return client;
  }

  private async connect(): Promise<LanguageClient> {
    if (mainFolder() === undefined) throw new Error("Open a folder: North works on the files of one.");
    return this.server.connect();
  }

  private opened(state: SessionState): void {
    this.modes = state.modes?.availableModes ?? [];
    this.modeId = state.modes?.currentModeId ?? "";
    this.problem = "";
    this.stateChanged.fire();
    setTimeout(() => void this.askPermissions(), 0); // once it is open
  }

  private async afterCrash(again: boolean): Promise<void> {
    const old = this.id;
    const lost = this.queued;
    const wasBusy = this.busy;
    this.forget();
    this.transcript.note("error", `North's server ended unexpectedly${wasBusy ? " in the middle of a turn" : ""}.`);
    if (!again) return this.fail("The server ended unexpectedly several times. See the log, then restart it.");
    if (!(await this.reopen(old))) return;
    this.transcript.note(
      "warning",
      `North's server ended unexpectedly${wasBusy ? " in the middle of a turn" : ""} and was started again. The conversation was loaded again, as far as it was saved.`,
    );
    for (const text of lost) this.transcript.note("warning", `Not sent: ${text}`);
  }

  /** The stored conversation from a new server, or an empty one where nothing was stored. */
  private async reopen(old: string): Promise<boolean> {
    try {
      if (old === "") {
        await this.open();
        return true;
      }
      this.opening = this.load(old).catch(() => this.openNow());
      await this.opening;
      return true;
    } catch (error) {
      this.opening = undefined;
      this.fail(reason(error));
      return false;
    }
  }

  private async load(id: string): Promise<LanguageClient> {
    const client = await this.connect();
    const before = this.transcript.all();
    this.id = id;
    this.transcript.clear();
    try {
      this.opened(await client.sendRequest<SessionState>("session/load", { sessionId: id, ...where() }));
    } catch (error) {
      this.log.warn(`The conversation cannot be loaded: ${reason(error)}`);
      for (const item of before) this.transcript.put(item);
      throw error;
    }
    return client;
  }

  /** The server answers one prompt after the other; one that waits is shown where its turn begins. */
  private beginNext(): void {
    const [next] = this.prompts;
    if (next !== undefined && !next.begun) {
      next.begun = true;
      this.transcript.say(next.text, next.attachment?.label);
    }
    this.stateChanged.fire();
  }

  private ended(prompt: Prompt, stopReason: string): void {
    if (!prompt.begun) this.transcript.note("info", `Not sent: ${prompt.text}`);
    else if (stopReason === "cancelled") this.transcript.note("info", "Stopped.");
    else if (stopReason !== "end_turn") this.transcript.note("warning", `The turn ended early: ${stopReason}.`);
  }

  private setTitle(title: string): void {
    this.title = title;
    this.titled.fire(title);
  }

  private fail(problem: string): void {
    this.log.error(problem);
    this.problem = problem;
    this.stateChanged.fire();
  }

  private update(params: UpdateParams): void {
    const { sessionId, update } = params;
    if (!this.isCurrent(sessionId)) return this.elsewhere.fire(params);
    if (update.sessionUpdate === "current_mode_update") {
      this.modeId = update.currentModeId;
      this.stateChanged.fire();
    } else if (update.sessionUpdate === "usage_update") {
      this.usage = usageOf(update);
      this.stateChanged.fire();
    } else if (update.sessionUpdate === "config_option_update") {
      void this.askPermissions();
    } else if (update.sessionUpdate === "session_info_update") {
      this.setTitle(update.title ?? "");
    } else {
      this.transcript.take(update);
    }
  }
}

function usageOf({ used, size, cost }: Extract<UpdateParams["update"], { sessionUpdate: "usage_update" }>): string {
  const full = size > 0 ? `${Math.round((100 * used) / size)} % of ${Math.round(size / 1000)}k` : "";
  const money = cost && cost.amount > 0 ? `${cost.amount.toFixed(cost.amount < 1 ? 3 : 2)} ${cost.currency}` : "";
  return [full, money].filter((part) => part !== "").join(" · ");
}

/** The folders that a conversation works on. */
export function where(): { cwd: string; additionalDirectories: string[]; mcpServers: never[] } {
  return { cwd: mainFolder()?.uri.fsPath ?? "", additionalDirectories: furtherFolders(), mcpServers: [] };
}
