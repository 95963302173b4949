/** The chat's page, in the side bar or in a tab: shows a conversation, and passes on what the user does there. */

import * as vscode from "vscode";

import { reason } from "../common/logger";
import type { FailureAction, FromPage, PickerId, PromptAct, Sent, State, ToPage } from "../messages";
import { confirmLasting } from "../review/approvals";
import { fill } from "../review/elicitation";
import { permittedSummary } from "../review/permissions";
import type { Proposals } from "../review/proposals";
import type { OpenQuestion, Questions } from "../review/questions";
import type { Attachment } from "../composer/chips";
import { Composer } from "../composer/composer";
import type { Turns } from "../review/turns";
import { showChange } from "./changes";
import { pickerButtons } from "./choices";
import { useCode } from "./code";
import { actElsewhere, bannerOf } from "./elsewhere";
import { readMessage } from "./incoming";
import { isLearned } from "./learned";
import { openFile, openLink, openPlace } from "./opening";
import { pageOf } from "./page";
import { pick } from "./pickers";
import { Outbox } from "./outbox";
import type { PromptContent } from "./prompts";
import { Rewinding } from "./rewinding";
import type { Session } from "./session";
import { showReplaced } from "./summaries";
import { StartingState } from "./starting";
import { knownSymbols, openSymbol } from "./symbols";
import { actOnTask } from "./tasks";
import type { Transcript } from "./transcript";
import { usageRows, usageText } from "./usage";
import { welcomeOf } from "./welcome";
import { showWholeOutput } from "./wholeOutputs";
import { decideWork } from "./work";

export class Panel implements vscode.Disposable {
  private webview: vscode.Webview | undefined;
  readonly composer: Composer;
  private readonly rewinding: Rewinding;
  private readonly starting = new StartingState(() => this.postState());
  /** Not sent, and to be restored as soon as there is a page. */
  private unsent: string[] = [];
  private readonly outbox: Outbox;
  /** What is being written in the page, for one in another place of the window; undefined as long as none has told. */
  private draft: string | undefined;
  /** The page is there and listens. */
  private ready = false;
  private wantsFocus = false;
  /** The keyboard is at the page. */
  private focused = false;
  /** The conversation that the page is to remember. */
  private kept = "";
  private readonly used = new vscode.EventEmitter<void>();
  private readonly delivered = new vscode.EventEmitter<void>();
  private readonly listeners: vscode.Disposable[];

  /** The user is at this page. */
  readonly onUse = this.used.event;
  /** What was sent has come to where it belongs: to the conversation, or into the input again. */
  readonly onDelivered = this.delivered.event;

  constructor(
    private readonly extension: vscode.Uri,
    private readonly session: Session,
    private readonly transcript: Transcript,
    private readonly questions: Questions,
    private readonly proposals: Proposals,
    private readonly turns: Turns,
    /** Brings the page into view, and there is one then. */
    private readonly reveal: (preserveFocus: boolean) => Thenable<unknown>,
    openCopy: (id: string, words: PromptContent) => Promise<void>,
    memory: Pick<vscode.Memento, "get" | "update">,
  ) {
    this.outbox = new Outbox(memory, (text) => this.take({ text, attachments: [] }), (ids) => this.settled(ids));
    this.composer = new Composer(session, (message) => this.post(message));
    const shown = (): void => void turns.shownAnew(true);
    this.rewinding = new Rewinding(session, (words) => this.take(words), shown, openCopy, () => this.postState());
    this.listeners = [
      this.used,
      this.delivered,
      this.starting,
      this.composer,
      transcript.onChange((message) => this.post(message)),
      session.onState(() => this.postState()),
      session.onStoredId((id) => this.keep(id)),
      session.onUnsent((content) => this.take(content)),
    ];
  }

  dispose(): void {
    vscode.Disposable.from(...this.listeners).dispose();
  }

  /** The page is made in a webview; the one before is gone. */
  fill(webview: vscode.Webview): void {
    this.outbox.leavePage();
    this.webview = webview;
    this.ready = false;
    webview.options = {
      enableScripts: true,
      enableForms: false,
      localResourceRoots: ["media", "out"].map((name) => vscode.Uri.joinPath(this.extension, name)),
    };
    webview.onDidReceiveMessage((message: unknown) => {
      const read = readMessage(message);
      if (read !== undefined) return this.report(this.receive(read));
    });
    webview.html = pageOf(webview, this.extension);
    void this.session.open().catch(() => undefined); // while the page is loaded; it shows the problem
  }

  /** The webview is gone. */
  empty(webview: vscode.Webview): void {
    if (this.webview !== webview) return;
    this.webview = undefined;
    this.outbox.leavePage();
  }

  /** Something was sent that the conversation does not have yet. */
  get isDelivering(): boolean {
    return !this.outbox.isEmpty;
  }

  /** What was not sent and has no page to be in; it is the caller's from now on. */
  takeUnsent(): PromptContent | undefined {
    return this.unsent.length === 0 ? undefined : { text: this.unsentText(), attachments: this.composer.takeAttached() };
  }

  /** Shows the chat; without `preserveFocus` the cursor goes to its input. Where it is made anew for a question, what the
   * user types goes on to where it was meant for. */
  async show(preserveFocus: boolean): Promise<void> {
    if (preserveFocus) {
      await this.reveal(true);
      return;
    }
    this.wantsFocus = true;
    await this.reveal(false);
    this.giveFocus();
  }

  async attach(attachment: Attachment): Promise<void> {
    this.composer.add(attachment);
    await this.show(false);
  }

  /** Puts what the user wrote into the input again. */
  take({ text, attachments }: PromptContent): void {
    for (const attachment of attachments) this.composer.add(attachment);
    this.unsent.push(text);
    this.restoreUnsent();
  }

  /** Lets the user choose. The cursor goes to the input afterwards, if it was at this page before. */
  async pick(picker: PickerId): Promise<void> {
    const wasHere = this.focused;
    await pick(this.session, picker);
    if (wasHere) await this.show(false);
  }

  /** What the user does with an earlier message. */
  async onPrompt(entry: string, act: PromptAct): Promise<void> {
    await this.rewinding.act(entry, act);
    if (act === "edit") await this.show(false);
  }

  private async receive(message: FromPage): Promise<void> {
    if (message.type === "ready") return this.begin(message.unsettled);
    if (message.type === "draft") return void (this.draft = message.text);
    if (message.type === "blurred") return this.noteFocus(false);
    if (message.type === "symbols") return this.post({ type: "symbols", asked: message.names, found: await knownSymbols(message.names) });
    this.used.fire();
    this.proposals.typing.reset();
    if (await this.composer.receive(message)) return;
    switch (message.type) {
      case "focused":
        return this.noteFocus(true);
      case "send":
      case "steer":
        return this.deliver(message);
      case "retry": return this.session.ask(message.now ? "_north/retry/now" : "_north/retry/abort", {});
      case "stop": return this.session.stop();
      case "open":
        return openFile(message.file, message.line);
      case "link":
        return openLink(message.address);
      case "place":
        return openPlace(message.path, message.line, (path) => isLearned(this.session, path));
      case "symbol":
        return openSymbol(message.name);
      case "diff": {
        const diff = this.transcript.diff(message.id, message.part);
        if (diff !== undefined) await showChange(`${message.id}:${message.part}`, diff);
        return;
      }
      case "code":
        return useCode(message);
      case "failure":
        return this.afterFailure(message.action);
      case "decide":
        return this.questions.whileOpen(message.id, (question) => this.decide(question, message.option, message.comment.trim(), message.command));
      case "fill": return this.questions.whileOpen(message.id, async (question) => fill(this.questions, question, message.values));
      case "review": return this.questions.whileOpen(message.id, (question) => this.proposals.show(question, true));
      case "replaced": return showReplaced(this.session, message.compaction);
      case "wholeOutput": return showWholeOutput(this.session, message.artifact);
      case "work": return decideWork(this.session, message.prompt);
      case "task": return actOnTask(this.session, message.task, message.act);
      case "prompt":
        return this.onPrompt(message.entry, message.act);
      case "queue": return this.session.queue.act(message.id, message.act);
      case "stopEditing": return this.rewinding.stopEditing();
      case "changes":
        return this.turns.act(message.id, message.act);
      case "elsewhere": return actElsewhere(this.session, message.act);
      case "pick":
        return this.pick(message.picker);
      case "run":
        await vscode.commands.executeCommand(message.command);
    }
  }

  private async begin(unsettled: Sent[]): Promise<void> {
    const { draft } = this; // before what the page tells of its own
    if (draft !== undefined) this.post({ type: "draft", text: draft });
    this.post({ type: "all", items: this.transcript.all() });
    this.postState();
    this.composer.postState(true);
    if (this.kept !== "") this.keep();
    this.ready = true;
    this.giveFocus();
    this.outbox.find(unsettled);
    this.restoreUnsent();
    // What failed or was cancelled while the page was loaded is not begun again by itself: the page shows the problem.
    if (this.session.problem === "") await this.session.open().catch(() => undefined);
  }

  private async afterFailure(action: FailureAction): Promise<void> {
    if (action !== "again") return vscode.commands.executeCommand(`north.${action}`);
    // As it was sent: what is attached and written by now belongs to the next message.
    const failed = this.session.lastPrompt;
    if (failed !== undefined && (await this.isHere())) await this.session.sendAgain(failed);
  }

  /** What fails of what the user does here is said in the conversation. */
  private async report(work: Promise<unknown>): Promise<void> {
    await work.catch((error: unknown) => this.transcript.note("error", reason(error)));
  }

  private deliver(message: Sent & { type: "send" | "steer" }): Promise<void> {
    const { type, text } = message;
    const delivered = this.outbox.send(message, (taken) => (type === "send" ? this.send(text, taken) : this.steer(text, taken)));
    this.postState(); // which shows it, while North starts
    return delivered;
  }

  private async send(text: string, taken: () => void): Promise<void> {
    const content = { text, attachments: [] };
    if (!(await this.isHere())) return this.take(content);
    if (text === "" && this.composer.isEmpty) return;
    const { chosen } = this.session;
    const goes = await this.rewinding.beforeSending().catch((error: unknown) => (this.transcript.note("error", reason(error)), false));
    if (!goes) return this.take(content);
    const attachments = await this.composer.take();
    if (chosen === this.session.chosen) await this.session.send(text, attachments, taken);
    else this.take({ text, attachments }); // it was meant for the conversation before
  }

  /** Words for the turn that runs; without one they are a message as any other. */
  private async steer(text: string, taken: () => void): Promise<void> {
    if (!this.session.busy) return this.send(text, taken);
    if (!(await this.isHere())) return this.take({ text, attachments: [] });
    const { chosen } = this.session;
    const attachments = await this.composer.take();
    if (chosen === this.session.chosen) await this.session.steer(text, attachments, taken);
    else this.take({ text, attachments });
  }

  /** Whether the conversation that the user is at can be opened, and is not open elsewhere, which is said. What was to be sent
   * there is the caller's: of several that wait for one opening, each continues in its turn. */
  private async isHere(): Promise<boolean> {
    const { chosen } = this.session;
    const opened = await this.session.open().then(() => true, () => false); // the page shows the problem
    if (!opened || chosen !== this.session.chosen) return false;
    const { elsewhere } = this.session;
    if (elsewhere === undefined) return true;
    const wait = elsewhere.leaving ? bannerOf(elsewhere, false, false)?.text : undefined;
    this.transcript.note("info", wait ?? vscode.l10n.t("This conversation is open elsewhere: take it over to continue it here."));
    return false;
  }

  /** An edit is taken as its diff shows it, wherever it is decided. */
  private async decide(question: OpenQuestion, optionId: string, comment: string, command?: string): Promise<void> {
    const option = question.options.find((offered) => offered.optionId === optionId);
    const lasts = option === undefined ? undefined : await confirmLasting(question, option);
    if (option === undefined || lasts === undefined) return;
    const word = comment === "" ? undefined : comment;
    if (question.kind !== "edit") {
      const changed = command === undefined || command === question.command ? {} : { command };
      const scope = lasts === "session" ? { scope: lasts } : {};
      this.questions.choose(question, optionId, { ...(word === undefined ? {} : { comment: word }), ...changed, ...scope });
    } else if (option.kind.startsWith("allow")) await this.proposals.accept(question, option.kind === "allow_always" ? lasts : undefined);
    else await this.proposals.reject(question, word);
  }

  /** For keys that hold while the keyboard's focus is in a chat, wherever that is. */
  private noteFocus(focused: boolean): void {
    this.focused = focused;
    void vscode.commands.executeCommand("setContext", "north.chatFocused", focused);
  }

  /** As soon as the page can take it. */
  private giveFocus(): void {
    if (!this.ready || !this.wantsFocus) return;
    this.wantsFocus = false;
    this.post({ type: "focus" });
  }

  private restoreUnsent(): void {
    if (!this.ready || this.webview === undefined) return;
    this.postState();
    // Several come one after the other: they stay in this order, before what is being written.
    queueMicrotask(() => {
      const text = this.unsentText();
      if (text !== "") void this.giveBack(text);
    });
  }

  /** A page that goes away has not got it: the next one does. */
  private async giveBack(text: string): Promise<void> {
    const hasIt = await this.webview?.postMessage({ type: "restoreUnsent", text } satisfies ToPage);
    if (hasIt !== true) this.unsent.unshift(text);
  }

  private unsentText(): string {
    return this.unsent.splice(0).filter((one) => one !== "").join("\n\n");
  }

  private settled(ids: string[]): void {
    this.post({ type: "settled", ids });
    this.postState();
    this.delivered.fire();
  }

  private keep(id = this.kept): void {
    this.kept = id;
    this.post({ type: "conversation", id });
  }

  private post(message: ToPage): void {
    void this.webview?.postMessage(message);
  }

  private postState(): void {
    const { problem, remedies, calm, options, busy, queue, usage, permissions, id, elsewhere, isTaking, canFork, todo, work } = this.session;
    const waiting = this.questions.openIn(id).length;
    const activity = waiting > 0 ? vscode.l10n.t("waits for you") : busy ? vscode.l10n.t("working") : "";
    const state: State = {
      problem,
      remedies,
      calm,
      pickers: pickerButtons(options),
      usage: usage === undefined ? "" : usageText(usage),
      usageRows: usage === undefined ? [] : usageRows(usage),
      busy,
      activity,
      waiting,
      permittedSummary: permittedSummary(permissions),
      // Where a conversation is open, what is sent is shown there in a moment.
      queued: id === "" ? [...queue.rows, ...this.outbox.rows] : queue.rows,
      todo,
      work: elsewhere === undefined ? work : { ...work, decisions: [] },
      elsewhere: bannerOf(elsewhere, isTaking, canFork),
      starting: this.starting.state(id === "" && problem === ""),
      editing: this.rewinding.editing !== "",
      welcome: welcomeOf(options),
    };
    this.post({ type: "state", state });
  }
}
