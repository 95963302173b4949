/** One conversation with the server: prompts, stopping, choices, and finding back after a crash. */

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import type { NorthEvent, PromptResult, SessionState, UpdateParams } from "../acp";
import { reason } from "../common/logger";
import { Pending } from "../common/pending";
import { type Attachment, blocksOf, labelsOf } from "../composer/chips";
import type { Server } from "../common/server";
import type { Questions } from "../review/questions";
import type { EditorState } from "./editorState";
import { type Prompt, type PromptContent, promptOf, Prompts } from "./prompts";
import { ConversationState } from "./conversationState";
import { Queue } from "./queue";
import type { Transcript } from "./transcript";
import { sessionFolders } from "./sessionFolders";
import { handTrust } from "./trust";

export class Session extends ConversationState {
  private current = "";
  /** The stored conversation to open next; empty for a new one. */
  private storedId = "";
  /** It had a turn that ended with the window. */
  private wasCut = false;
  private isAgreed = false;
  private opening: Promise<LanguageClient> | undefined;
  /** Ends what waits for the conversation that is being opened: it is left. */
  private giveUp: (why: Error) => void = () => undefined;
  private stopCount = 0;
  private leaveCount = 0;
  private chosenCount = 0;
  /** The conversation before is being closed: the next one is opened after that. */
  private closing: Promise<void> = Promise.resolve();
  /** What the user has again since the connection broke, or sees in the conversation: the server tells it once more. */
  private returned: PromptContent[] = [];
  /** Words for the turn that runs, of which the server has not said yet whether it has them. */
  private readonly steered = new Set<PromptContent>();
  /** What was sent and is not answered, also in a conversation that was left: it may be the user's again. */
  readonly unanswered = new Pending();
  private readonly storedIdChanged = new vscode.EventEmitter<string>();
  private readonly prompts: Prompts;
  readonly queue: Queue;
  /** What was not sent belongs to the user again. */
  readonly onUnsent: Prompts["onUnsent"];
  private readonly listeners: vscode.Disposable[];

  /** The id to find the conversation again by; empty while there is nothing to find. */
  readonly onStoredId = this.storedIdChanged.event;

  constructor(
    private readonly server: Server,
    private readonly transcript: Transcript,
    private readonly questions: Questions,
    private readonly log: vscode.LogOutputChannel,
    private readonly editor: () => EditorState | undefined = () => undefined,
    private readonly windowId?: string,
  ) {
    super();
    this.prompts = new Prompts(transcript, () => this.stateChanged.fire());
    this.onUnsent = this.prompts.onUnsent;
    this.queue = new Queue(this.prompts, (method, params) => this.ask(method, params), () => this.stateChanged.fire());
    this.listeners = [
      server.onCrash((again) => void this.afterCrash(again)),
      server.onRestart((stopped) => void this.afterRestart(stopped)),
      questions.onChange(() => this.stateChanged.fire()),
      ...[this.prompts, this.storedIdChanged],
    ];
  }

  override dispose(): void {
    vscode.Disposable.from(...this.listeners).dispose();
    super.dispose();
  }

  override get id(): string {
    return this.current;
  }

  /** Another number once the user has gone to another conversation; the same after a crash. */
  get chosen(): number {
    return this.chosenCount;
  }

  get busy(): boolean {
    return this.prompts.any || this.elsewhere?.leaving === true;
  }

  /** Waits until it is not at work. */
  async idle(): Promise<void> {
    while (this.busy) await new Promise<void>((resolve) => once(this.onState, resolve));
  }

  /** Waits until the command is answered that leads to another conversation: it is no turn that would be stopped. */
  async answeredCommand(): Promise<void> {
    while (this.prompts.isLeading) await new Promise<void>((resolve) => once(this.onState, resolve));
  }

  /** The server can copy a conversation. */
  get canFork(): boolean {
    return this.server.offers("fork");
  }

  get waiting(): boolean {
    return this.questions.openIn(this.current).length > 0;
  }

  override isCurrent(sessionId: string): boolean {
    return sessionId === this.current;
  }

  /** The stored conversation that is opened at the next `open`. `isAgreed`: the user wants it to go on in this folder, although
   * it is about another one. */
  restore(id: string, { wasRunning = false, isAgreed = false } = {}): void {
    this.chosenCount += 1;
    this.storedId = id;
    this.wasCut = wasRunning;
    this.isAgreed = isAgreed;
    this.returned = [];
  }

  /** A client with this conversation open in its server. Throws with the reason, which the panel shows as well. */
  open(): Promise<LanguageClient> {
    if (this.opening !== undefined) return this.opening;
    if (!this.calm) this.problem = ""; // it is tried once more, and the page says so
    const left = new Promise<never>((_, reject) => (this.giveUp = reject));
    const opening = Promise.race([this.openNow(), left]).finally(() => this.opening === opening && this.setPhase(""));
    this.opening = opening;
    opening.catch((error: unknown) => {
      if (this.opening !== opening) return; // it was left in the meantime
      this.opening = undefined;
      this.log.error(reason(error));
      this.setProblem(error);
    });
    return opening;
  }

  /** What the user has sent last, to be sent again. */
  get lastPrompt(): PromptContent | undefined {
    return this.prompts.shown;
  }

  /** Goes into the input again if it cannot be sent. `taken` is called once it is the conversation's. */
  send(text: string, attachments: readonly Attachment[] = [], taken?: () => void): Promise<void> {
    return this.unanswered.add(this.sendPrompt({ text, attachments }, taken));
  }

  /** What the conversation shows: it does not go into the input, whatever comes of it. */
  sendAgain({ text, attachments }: PromptContent): Promise<void> {
    return this.unanswered.add(this.sendPrompt({ text, attachments, isShown: true }));
  }

  private async sendPrompt(content: PromptContent, taken?: () => void): Promise<void> {
    const opening = this.open();
    let client: LanguageClient | undefined;
    try {
      client = await opening;
    } catch {
      // the page shows the problem
    }
    // It belongs to the conversation that was shown: not to one that is being opened by now.
    if (client === undefined || this.opening !== opening) return this.prompts.restoreUnsent(content);
    const sent = this.prompts.add(content);
    taken?.();
    this.storedIdChanged.fire(this.current);
    await this.run(client, sent, "session/prompt", promptOf(content, this.editor()));
  }

  /** Another North has it open, or has no more. */
  elsewhereChanged({ by, unfinished, queued = [] }: NorthEvent): void {
    this.setElsewhere(by ?? undefined);
    this.prompts.takeUnsent({ _meta: { north: { queued } } });
    if (unfinished !== undefined) void this.goOn();
  }

  /** Goes on with the turn that an earlier process left: its question is asked again. */
  private async goOn(): Promise<void> {
    if (this.prompts.any) return;
    const going = this.prompts.goOn();
    const opening = this.open();
    const client = await opening.catch(() => undefined);
    if (client === undefined || this.opening !== opening) return this.prompts.remove(going);
    await this.resume(client, going);
  }

  private resume(client: LanguageClient, going: Prompt): Promise<void> {
    return this.run(client, going, "_north/turn/resume", {});
  }

  private async run(client: LanguageClient, sent: Prompt, method: string, params: object): Promise<void> {
    const sessionId = this.current;
    const answer = client.sendRequest<PromptResult>(method, { sessionId, ...params });
    // A crash is dealt with as a whole, not by each of its prompts.
    await this.prompts.settle(sent, answer, (failed) => this.isCurrent(sessionId) && (!failed || this.server.running === client));
    void this.askPermissions();
  }

  /** Words for the turn that runs, delivered between two of its steps; a prompt of their own if it ends before. */
  steer(text: string, attachments: readonly Attachment[] = [], taken?: () => void): Promise<void> {
    return this.busy ? this.unanswered.add(this.steerTurn(text, attachments, taken)) : this.send(text, attachments, taken);
  }

  private async steerTurn(text: string, attachments: readonly Attachment[], taken?: () => void): Promise<void> {
    const { current, stopCount } = this;
    const content = { text, attachments };
    this.steered.add(content);
    taken?.();
    const { delivered } = await this.ask<{ delivered: boolean }>("_north/steer", { prompt: blocksOf(text, attachments) }).catch((error: unknown) => {
      this.log.debug(reason(error)); // the turn has ended in the meantime
      return { delivered: false };
    });
    if (!this.steered.delete(content)) return; // the server has ended, and the user has it again
    if (!delivered && this.prompts.wasWithdrawn(content)) return;
    if (delivered && (!this.isCurrent(current) || !/^[/!]/.test(text))) return; // the server shows what it delivers
    if (delivered) this.transcript.say(text, labelsOf(attachments));
    else if (stopCount === this.stopCount && this.isCurrent(current)) await this.send(text, attachments);
    else this.prompts.restoreUnsent(content);
  }

  /** One of North's own requests about this conversation. Throws with the server's reason. */
  override async ask<Result>(method: string, params: object, token?: vscode.CancellationToken): Promise<Result> {
    const client = await this.open();
    // A token that is undefined would be taken for a second parameter.
    return client.sendRequest<Result>(method, { sessionId: this.current, ...params }, ...(token === undefined ? [] : [token]));
  }

  async stop(): Promise<void> {
    const sessionId = this.current;
    if (sessionId === "") return;
    this.stopCount += 1;
    await this.server.running?.sendNotification("session/cancel", { sessionId });
    this.questions.cancelAll(sessionId);
  }

  async setMode(modeId: string): Promise<void> {
    await this.ask("session/set_mode", { modeId });
    this.modeId = modeId;
    this.stateChanged.fire();
  }

  /** For this conversation from now on, also for a turn that runs. */
  async choose(configId: string, value: string): Promise<void> {
    this.takeState(await this.ask<SessionState>("session/set_config_option", { configId, value }));
    await this.askPermissions();
  }

  /** Leaves this conversation and begins another, or goes on with the stored one. */
  async renew(stored = "", isAgreed = false): Promise<void> {
    void this.leave();
    this.restore(stored, { isAgreed });
    this.storedIdChanged.fire(stored);
    this.transcript.clear();
    const { chosenCount } = this;
    await this.open().catch((error: unknown) => {
      if (chosenCount === this.chosenCount) throw error; // otherwise the next one is opened, which is no failure
    });
  }

  /** Closes the conversation in the server; a running turn is stopped, and what waited belongs to the user again. */
  leave(): Promise<void> {
    this.prompts.giveBackWaiting();
    const old = this.current;
    const client = this.server.running;
    this.forget();
    if (client === undefined || old === "") return this.closing;
    const closed = client.sendRequest("session/close", { sessionId: old }).catch((error: unknown) => this.log.debug(reason(error)));
    this.closing = Promise.all([this.closing, closed]).then(() => undefined);
    return this.closing;
  }

  /** A new server for all conversations. */
  async restart(): Promise<void> {
    await this.server.restart();
    await this.open().catch(() => undefined); // the page shows the problem
  }

  /** What the server tells of this conversation. */
  update({ update }: UpdateParams): void {
    if (!this.takeUpdate(update)) this.transcript.take(update);
    else if (update.sessionUpdate === "config_option_update") void this.askPermissions();
  }

  private forget(why = wasLeft()): void {
    this.giveUp(new Error(why));
    const old = this.current;
    this.current = "";
    this.leaveCount += 1;
    this.opening = undefined;
    this.prompts.clear();
    this.queue.forget();
    if (old !== "") this.questions.cancelAll(old);
    this.reset();
  }

  private async openNow(): Promise<LanguageClient> {
    const { leaveCount } = this;
    this.setPhase("server");
    await this.closing;
    const client = await this.server.connect();
    this.mustBeWanted(leaveCount);
    this.setPhase("conversation");
    if (this.storedId !== "" && (await this.load(client, this.storedId))) return client;
    const answer = await client.sendRequest<SessionState & { sessionId: string }>("session/new", sessionFolders(this.windowId));
    this.mustBeWanted(leaveCount);
    this.current = answer.sessionId;
    this.returned = [];
    this.opened(answer);
    return client;
  }

  /** Throws if what is being opened was left in the meantime. */
  private mustBeWanted(leaveCount: number): void {
    if (leaveCount !== this.leaveCount) throw new Error(wasLeft());
  }

  /** Whether there is such a conversation; what was shown before stays otherwise. Throws when the server has ended, and when
   * it was left in the meantime. */
  private async load(client: LanguageClient, id: string): Promise<boolean> {
    const { leaveCount } = this;
    const before = this.transcript.all();
    this.current = id;
    this.transcript.clear();
    try {
      const answer = await client.sendRequest<SessionState>("session/load", { sessionId: id, ...sessionFolders(this.windowId, this.isAgreed) });
      this.mustBeWanted(leaveCount);
      this.storedId = "";
      this.opened(answer);
      this.prompts.takeUnsent(answer, this.returned.splice(0));
      this.storedIdChanged.fire(id);
      this.setElsewhere(answer._meta?.north?.openElsewhere);
      // Before what waits for the conversation: a message that comes first would have the turn given up.
      if (answer._meta?.north?.unfinished !== undefined && !this.prompts.any) void this.resume(client, this.prompts.goOn());
      else if (this.wasCut && answer._meta?.north?.endedEarly === true) this.transcript.note("warning", vscode.l10n.t("The window was closed or reloaded in the middle of this turn, which ended it. Send /continue to resume it."));
      this.wasCut = this.isAgreed = false;
      return true;
    } catch (error) {
      if (leaveCount !== this.leaveCount) throw error;
      this.current = "";
      for (const item of before) this.transcript.put(item);
      if (this.server.running !== client) throw error; // another server is tried
      this.storedId = "";
      this.storedIdChanged.fire("");
      this.transcript.note("warning", vscode.l10n.t("The conversation cannot be loaded: {0}", reason(error)));
      return false;
    }
  }

  private opened(state: SessionState): void {
    this.problem = "";
    this.calm = false;
    this.takeState(state);
    setTimeout(() => void handTrust(this, this.log).then(() => this.askPermissions()), 0); // once it is open
  }

  private async afterCrash(again: boolean): Promise<void> {
    this.closing = Promise.resolve(); // a server that is gone answers nothing
    if (!this.isOpen) return;
    const { t } = vscode.l10n;
    const ended = this.busy ? t("North's server ended unexpectedly in the middle of a turn") : t("North's server ended unexpectedly");
    this.dropConnection(ended);
    this.transcript.note("error", `${ended}.`);
    if (!again) return this.setProblem(new Error(vscode.l10n.t("The server ended unexpectedly several times. See the log, then restart it.")));
    if (await this.reopen()) this.transcript.note("warning", vscode.l10n.t("{0} and was started again. {1}", ended, vscode.l10n.t("The conversation was loaded again, as far as it was saved.")));
  }

  private async afterRestart(stopped: Promise<void>): Promise<void> {
    this.closing = Promise.resolve();
    this.calm = false; // what North waited for may have come: the page says that it starts
    if (!this.isOpen) return;
    this.dropConnection(vscode.l10n.t("North's server was restarted."));
    await stopped;
    await this.reopen();
  }

  /** Or it was tried. */
  private get isOpen(): boolean {
    return this.opening !== undefined || this.problem !== "";
  }

  /** The conversation is for the next server. */
  private dropConnection(why: string): void {
    const waiting = [...this.prompts.untaken, ...this.steered];
    this.steered.clear();
    if (this.current !== "") this.storedId = this.current;
    this.forget(why);
    this.returned.push(...waiting);
    for (const content of waiting) this.prompts.restoreUnsent(content);
  }

  private reopen(): Promise<boolean> {
    return this.open().then(() => true, () => false); // the page shows the problem
  }
}

function wasLeft(): string {
  return vscode.l10n.t("Another conversation was chosen in the meantime.");
}

function once(event: vscode.Event<void>, act: () => void): void {
  const listener = event(() => {
    listener.dispose();
    act();
  });
}
