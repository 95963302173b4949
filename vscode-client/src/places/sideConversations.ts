/** Conversations beside those of North's own view: for VS Code's chat, and for single questions. */

import type { CancellationToken } from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import type { PromptBlock, PromptResult, Update, UpdateParams } from "../acp";
import type { Worker } from "../common/idle";
import { Waits } from "./chatParts";

export interface Listener {
  update(update: Update): void;
  /** North asks its user something about this conversation. */
  asks?(): void;
}

export interface Folders {
  cwd: string;
  additionalDirectories: string[];
  mcpServers: never[];
}

export class SideConversations implements Worker {
  private readonly listeners = new Map<string, Listener>();
  private readonly turns = new Set<Promise<unknown>>();
  /** Open in the server that runs; another server knows none of them. */
  private readonly open = new Map<string, LanguageClient>();

  constructor(
    private readonly connect: () => Promise<LanguageClient>,
    private readonly folders: () => Folders,
    /** A turn is over: nobody waits for what it asked. */
    private readonly ended: (sessionId: string) => void = () => {},
  ) {}

  get busy(): boolean {
    return this.turns.size > 0;
  }

  async idle(): Promise<void> {
    while (this.busy) await Promise.allSettled(this.turns);
  }

  /** Takes what the server says about one of these conversations. */
  take({ sessionId, update }: UpdateParams): void {
    this.listeners.get(sessionId)?.update(update);
  }

  /** Whether the user may be asked about a conversation: while it answers somebody who listens for that. */
  mayAsk(sessionId: string): boolean {
    const listener = this.listeners.get(sessionId);
    listener?.asks?.();
    return listener?.asks !== undefined;
  }

  async begin(): Promise<string> {
    const client = await this.connect();
    const { sessionId } = await client.sendRequest<{ sessionId: string }>("session/new", this.folders());
    this.open.set(sessionId, client);
    return sessionId;
  }

  /** Goes on with one that another server may have begun; nothing if it is not there any more. */
  async reopen(sessionId: string): Promise<string | undefined> {
    const client = await this.connect();
    if (this.open.get(sessionId) === client) return sessionId;
    try {
      await client.sendRequest("session/resume", { sessionId, ...this.folders() });
    } catch {
      return undefined;
    }
    this.open.set(sessionId, client);
    return sessionId;
  }

  /** Sends a message in one that is open. */
  async ask(sessionId: string, prompt: PromptBlock[], listener: Listener, token: CancellationToken): Promise<PromptResult> {
    const client = await this.connect();
    this.listeners.set(sessionId, listener);
    const cancelled = token.onCancellationRequested(() => void client.sendNotification("session/cancel", { sessionId }));
    const turn = client.sendRequest<PromptResult>("session/prompt", { sessionId, prompt });
    this.turns.add(turn);
    try {
      return await turn;
    } finally {
      cancelled.dispose();
      this.turns.delete(turn);
      this.listeners.delete(sessionId);
      this.ended(sessionId);
    }
  }

  /** Ends the wait before the model is asked again; nothing where there is none any more. */
  async retryNow(sessionId: string): Promise<void> {
    await this.open.get(sessionId)?.sendRequest("_north/retry/now", { sessionId }).catch(() => undefined);
  }

  /** One answer in words, in a conversation of which nothing stays and which can change nothing. `waits` gets the words of a wait
   * before the model is asked again, and what ends it. */
  async askOnce(prompt: PromptBlock[], token: CancellationToken, waits: (words: string, now: () => Promise<void>) => void): Promise<string> {
    const client = await this.connect();
    const sessionId = await this.begin();
    let answer = "";
    const told = new Waits();
    const update = (update: Update): void => {
      if (update.sessionUpdate === "agent_message_chunk") answer += update.content.text ?? "";
      const words = told.wordsOf(update);
      if (words !== undefined) waits(words, () => this.retryNow(sessionId));
    };
    try {
      await client.sendRequest("session/set_mode", { sessionId, modeId: "ask" });
      const { stopReason, _meta } = await this.ask(sessionId, prompt, { update }, token);
      const failed = _meta?.north?.error !== undefined;
      if (failed) throw new Error(answer.trim() === "" ? "The model failed." : answer.trim());
      return stopReason === "cancelled" ? "" : answer;
    } finally {
      this.open.delete(sessionId);
      await client.sendRequest("session/delete", { sessionId }).catch(() => undefined);
    }
  }
}
