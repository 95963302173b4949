/** The conversations that are open: one in the side bar's view, and any number in tabs of editors. */

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import type { NorthEvent, UpdateParams } from "../acp";
import type { PromptContent } from "./prompts";
import { type Handed, openThere, takeHandedOver, watchHandedOver } from "./otherFolder";
import { wordsOf } from "./rewinding";
import type { Server } from "../common/server";
import { type Worker, allIdle } from "../common/idle";
import { mainFolder } from "../common/settings";
import type { TurnDiffs } from "../review/turnDiffs";
import type { Proposals } from "../review/proposals";
import type { OpenQuestion, Questions } from "../review/questions";
import { Turns } from "../review/turns";
import { Panel } from "./panel";
import { EditorStates } from "./editorState";
import { Session } from "./session";
import { rememberedConversation } from "./stored";
import { Transcript } from "./transcript";
import { Tab } from "./tab";
import { ChatView } from "./view";

/** What makes up one. */
export interface Conversation {
  readonly session: Session;
  readonly transcript: Transcript;
  readonly panel: Panel;
  readonly turns: Turns;
}

interface InTab extends Conversation {
  readonly tab: Tab;
}

export interface Parts {
  readonly extension: vscode.Uri;
  readonly server: Server;
  readonly questions: Questions;
  readonly proposals: Proposals;
  readonly before: TurnDiffs;
  readonly log: vscode.LogOutputChannel;
  /** What is kept of this workspace. */
  readonly memory: vscode.Memento;
  /** A folder that all windows share. */
  readonly shared: string;
  /** By which the server knows this window; none without a folder. */
  readonly windowId: string | undefined;
}

const LAST = "north.conversation";
const RUNNING = "north.running";

export class Conversations implements vscode.Disposable, Worker {
  /** The one in the side bar. */
  readonly main: Conversation;
  private tabs: InTab[] = [];
  private used: Conversation;
  /** At work when the window ended before, and now. */
  private readonly cut: string[];
  private running: string[] = [];
  private readonly editorStates = new EditorStates();
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly attention = new vscode.EventEmitter<{ conversation: Conversation; reason: string }>();
  private readonly wanted = new vscode.EventEmitter<{ id: string | null; folder: string }>();
  private readonly elsewhere = new vscode.EventEmitter<UpdateParams>();
  private readonly listeners: vscode.Disposable[];

  /** Any of them has changed, or another one is the active one. */
  readonly onState = this.changed.event;
  readonly onAttention = this.attention.event;
  /** The user has asked for another conversation, by a slash command. */
  readonly onWanted = this.wanted.event;
  /** What the server tells of a conversation that is none of these. */
  readonly onElsewhere = this.elsewhere.event;

  constructor(private readonly parts: Parts) {
    const view: ChatView = new ChatView(() => this.waiting.length);
    this.main = this.create((preserveFocus) => view.reveal(preserveFocus));
    this.used = this.main;
    const { session, panel, turns } = this.main;
    this.cut = parts.memory.get<string[]>(RUNNING) ?? [];
    const folder = (): string => mainFolder()?.uri.fsPath ?? "";
    const handed = takeHandedOver(parts.shared, folder());
    if (handed === undefined) this.restoreIn(session, parts.memory.get<string>(LAST) ?? "");
    else session.restore(handed.id, { isAgreed: handed.isAgreed });
    view.hold(session, panel);
    this.listeners = [
      this.editorStates,
      this.changed,
      this.attention,
      this.elsewhere,
      this.wanted,
      view,
      session,
      panel,
      turns,
      session.onStoredId((id) => void parts.memory.update(LAST, id === "" ? undefined : id)),
      this.onState(() => view.showState()),
      this.onState(() => this.keepRunning()),
      watchHandedOver(parts.shared, folder, (handed) => this.showHanded(handed)),
      vscode.window.registerWebviewPanelSerializer(Tab.type, {
        deserializeWebviewPanel: async (panel, state: unknown) => this.restore(panel, state),
      }),
    ];
  }

  dispose(): void {
    for (const { tab, session, panel, turns } of this.tabs) vscode.Disposable.from(turns, panel, session, tab).dispose();
    vscode.Disposable.from(...this.listeners).dispose();
  }

  /** The one that the user is at: the commands are about it. */
  get active(): Conversation {
    return this.used;
  }

  get all(): readonly Conversation[] {
    return [this.main, ...this.tabs];
  }

  /** What all of them ask, oldest first. */
  get waiting(): OpenQuestion[] {
    return this.parts.questions.open;
  }

  get busy(): boolean {
    return this.all.some(({ session }) => session.busy);
  }

  idle(): Promise<void> {
    return allIdle(this.all.map(({ session }) => session));
  }

  /** Asks the server, which is started for that, about any stored conversation. */
  async request<Result>(method: string, params: object, token?: vscode.CancellationToken): Promise<Result> {
    const client = await this.main.session.open();
    return client.sendRequest<Result>(method, params, ...(token === undefined ? [] : [token]));
  }

  find(sessionId: string): Conversation | undefined {
    return this.all.find(({ session }) => session.isCurrent(sessionId));
  }

  /** Another window, of the folder that a conversation is about, shows it. */
  openThere(folder: string, id: string, isAgreed = false): Promise<void> {
    return openThere(this.parts.shared, folder, id, isAgreed);
  }

  isInView(conversation: Conversation): boolean {
    return conversation === this.main;
  }

  /** Listens on a client's connection, before it starts. */
  listen(client: LanguageClient): void {
    client.onNotification("session/update", (params: UpdateParams) => {
      const conversation = this.find(params.sessionId);
      if (conversation === undefined) this.elsewhere.fire(params);
      else conversation.session.update(params);
    });
    client.onNotification("_north/event", (event: NorthEvent) => {
      const conversation = this.find(event.sessionId);
      if (conversation !== undefined) this.hear(conversation, event);
    });
  }

  /** Shows where a question waits; the side bar if there is none. */
  async showWaiting(): Promise<void> {
    const [question] = this.waiting;
    const conversation = question === undefined ? undefined : this.find(question.sessionId);
    await (conversation ?? this.main).panel.show(false);
  }

  /** The same for a question that has just come, which may take nothing from what the user does: a notification leads to a
   * tab that would cover it. */
  async announce({ sessionId }: OpenQuestion): Promise<void> {
    const inTab = this.tabs.find(({ session }) => session.isCurrent(sessionId));
    if (inTab?.tab.wouldCover !== true) await (inTab ?? this.main).panel.show(true);
  }

  /** A new conversation in a tab, or a stored one; with words for its input. */
  async openTab(stored = "", content?: PromptContent, isAgreed = false): Promise<void> {
    const conversation = this.addTab();
    conversation.session.restore(stored, { isAgreed });
    if (content !== undefined) conversation.panel.take(content);
    await conversation.panel.show(false);
  }

  /** It is not shown any more; a turn that runs in it is stopped. */
  async close(conversation: Conversation): Promise<void> {
    const inTab = this.tabs.find(({ session }) => session === conversation.session);
    if (inTab === undefined) return conversation.session.renew();
    const closed = inTab.session.leave();
    inTab.tab.dispose(); // without waiting for a server that may hang
    await closed;
  }

  async askPermissions(): Promise<void> {
    await Promise.all(this.all.map(({ session }) => session.askPermissions()));
  }

  /** A conversation that another window has handed over; what runs here goes on. */
  private async showHanded({ id, isAgreed }: Handed): Promise<void> {
    const { session, panel } = this.main;
    const open = this.find(id);
    if (open !== undefined) return open.panel.show(false);
    if (session.busy) return this.openTab(id, undefined, isAgreed);
    await panel.show(false);
    await session.renew(id, isAgreed).catch(() => undefined); // the page shows the problem
  }

  private hear(conversation: Conversation, told: NorthEvent): void {
    const { event, reason, turnId, prompt = [], conversationId, cwd, path } = told;
    const { session, transcript, turns, panel } = conversation;
    if (event === "open_elsewhere") session.elsewhereChanged(told);
    else if (event === "queue_changed") session.queue.take(told);
    else if (event === "work_changed") session.setWork(told);
    else if (event === "attention") this.attention.fire({ conversation, reason: reason ?? "" });
    else if (event === "conversation_wanted") this.wanted.fire({ id: conversationId ?? null, folder: cwd ?? "" });
    else if (event === "close_wanted") void session.answeredCommand().then(() => this.close(conversation));
    else if (event === "document_wanted" && path !== undefined) void vscode.window.showTextDocument(vscode.Uri.file(path), { preview: false });
    else if (event === "settings_wanted") void vscode.commands.executeCommand("north.settings");
    else if (event === "todo_wanted") void vscode.commands.executeCommand("north.editTodo");
    else if (event === "turn_start" && turnId !== undefined) transcript.began(turnId);
    else if (event === "turn_end") transcript.ended();
    else if (event === "transcript_reset") {
      transcript.clear();
      session.setTodo([]);
      session.setWork({});
      void turns.shownAnew(false);
      if (prompt.length > 0) panel.take(wordsOf(prompt));
    } else if (event === "conversation_copied" && typeof conversationId === "string") void this.openTab(conversationId, wordsOf(prompt));
  }

  private restore(webviewPanel: vscode.WebviewPanel, state: unknown): void {
    const { tab, session } = this.addTab();
    this.restoreIn(session, rememberedConversation(state));
    tab.show(webviewPanel);
  }

  private restoreIn(session: Session, id: string): void {
    session.restore(id, { wasRunning: this.cut.includes(id) });
  }

  /** What is at work, for the case that the window ends; without a server nothing is, and nothing has come to its end. */
  private keepRunning(): void {
    const ids = this.all.filter(({ session }) => session.busy).map(({ session }) => session.id);
    if (this.parts.server.running === undefined || ids.join() === this.running.join()) return;
    this.running = ids;
    void this.parts.memory.update(RUNNING, ids);
  }

  private addTab(): InTab {
    const tab: Tab = new Tab(this.parts.extension, () => this.left(conversation));
    const created = this.create((preserveFocus) => tab.reveal(preserveFocus));
    const conversation: InTab = { ...created, tab };
    tab.hold(created.session, created.panel);
    this.tabs.push(conversation);
    const leaveUnseen = (): void => {
      if (!tab.isShown) this.left(conversation);
    };
    created.session.onState(leaveUnseen); // a turn has ended that nobody looked at
    created.panel.onDelivered(leaveUnseen);
    this.changed.fire();
    return conversation;
  }

  /** A tab was closed. A turn in it goes on, and the tab comes back for what it asks; what was sent there and could not go
   * is in the side bar's input. */
  private left(conversation: InTab): void {
    const { session, panel, turns, tab } = conversation;
    if (this.used.session === session) this.setUsed(this.main);
    if (session.busy || panel.isDelivering || !this.tabs.includes(conversation)) return;
    this.tabs = this.tabs.filter((other) => other !== conversation);
    const takeUnsent = (): void => {
      const unsent = panel.takeUnsent();
      if (unsent !== undefined) this.main.panel.take(unsent);
    };
    takeUnsent();
    session.onUnsent(takeUnsent); // what was given up with the conversation is told later
    void Promise.allSettled([session.leave(), session.unanswered.ended()]).then(() => {
      takeUnsent(); // what the page did not take any more
      vscode.Disposable.from(turns, panel, session, tab).dispose();
    });
    this.changed.fire();
  }

  private create(reveal: (preserveFocus: boolean) => Thenable<unknown>): Conversation {
    const { extension, server, questions, proposals, before, log } = this.parts;
    const transcript = new Transcript((path) => vscode.workspace.asRelativePath(path));
    const session = new Session(server, transcript, questions, log, () => this.editorStates.now(), this.parts.windowId);
    const turns = new Turns(session, transcript, questions, before, log);
    const open = (id: string, words: PromptContent) => this.openTab(id, words);
    const panel = new Panel(extension, session, transcript, questions, proposals, turns, reveal, open, this.parts.memory);
    const conversation = { session, transcript, panel, turns };
    session.onState(() => this.changed.fire());
    panel.onUse(() => this.setUsed(conversation));
    return conversation;
  }

  private setUsed(conversation: Conversation): void {
    if (this.used.session === conversation.session) return;
    this.used = this.all.find(({ session }) => session === conversation.session) ?? this.main;
    this.changed.fire();
  }
}
