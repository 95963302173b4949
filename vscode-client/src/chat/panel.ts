/** The chat's page in the side bar: shows the transcript, and passes on what the user does there. */

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";

import { reason } from "../common/logger";
import type { FromPage, ToPage } from "../messages";
import { confirmed } from "../review/approvals";
import { unasked } from "../review/permissions";
import type { Proposals } from "../review/proposals";
import type { OpenQuestion, Questions } from "../review/questions";
import type { Turns } from "../review/turns";
import { openFile, openLink } from "./opening";
import type { Attachment, Session } from "./session";
import type { Transcript } from "./transcript";

export const VIEW = "north.chat";

export class Panel implements vscode.WebviewViewProvider, vscode.Disposable {
  private view: vscode.WebviewView | undefined;
  private attachment: Attachment | undefined;
  /** The page is there and listens. */
  private ready = false;
  private wantsFocus = false;
  private readonly listeners: vscode.Disposable[];

  constructor(
    private readonly extension: vscode.Uri,
    private readonly session: Session,
    private readonly transcript: Transcript,
    private readonly questions: Questions,
    private readonly proposals: Proposals,
    private readonly turns: Turns,
  ) {
    this.listeners = [
      vscode.window.registerWebviewViewProvider(VIEW, this),
      transcript.onChange((message) => this.post(message)),
      session.onState(() => this.postState()),
      session.onTitle((title) => {
        if (this.view !== undefined) this.view.title = title || "Chat";
      }),
    ];
  }

  dispose(): void {
    vscode.Disposable.from(...this.listeners).dispose();
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    this.ready = false;
    view.title = this.session.title || "Chat";
    const { webview } = view;
    webview.options = { enableScripts: true, enableForms: false, localResourceRoots: [this.extension] };
    webview.onDidReceiveMessage((message: FromPage) => this.receive(message));
    view.onDidDispose(() => {
      if (this.view === view) this.view = undefined;
    });
    webview.html = this.page(webview);
  }

  /** Shows the chat; without `preserveFocus` the cursor goes to its input. */
  async show(preserveFocus: boolean): Promise<void> {
    if (preserveFocus && this.view !== undefined) return this.view.show(true);
    this.wantsFocus = true;
    await vscode.commands.executeCommand(`${VIEW}.focus`);
    this.giveFocus();
  }

  async attach(attachment: Attachment): Promise<void> {
    this.attachment = attachment;
    this.postState();
    await this.show(false);
  }

  private async receive(message: FromPage): Promise<void> {
    this.proposals.typing.left();
    switch (message.type) {
      case "ready":
        this.post({ type: "all", items: this.transcript.all() });
        this.postState();
        this.ready = true;
        this.giveFocus();
        await this.session.open().catch(() => undefined); // the page shows the problem
        return;
      case "send":
        return this.send(message.text);
      case "steer":
        return this.session.steer(message.text);
      case "retry":
        return this.report(this.session.ask(message.now ? "_north/retry/now" : "_north/retry/abort", {}));
      case "stop":
        return this.session.stop();
      case "detach":
        this.attachment = undefined;
        return this.postState();
      case "open":
        return openFile(message.file, message.line);
      case "link":
        return openLink(message.address);
      case "decide": {
        const question = this.questions.open.find((open) => open.id === message.id);
        if (question !== undefined) await this.decide(question, message.option, message.comment.trim());
        return;
      }
      case "review": {
        const question = this.questions.open.find((open) => open.id === message.id);
        if (question !== undefined) await this.proposals.show(question, true);
        return;
      }
      case "changes":
        return this.report(this.turns.act(message.id, message.act));
      case "run":
        await vscode.commands.executeCommand(message.command);
    }
  }

  private async report(work: Promise<unknown>): Promise<void> {
    await work.catch((error: unknown) => this.transcript.note("error", reason(error)));
  }

  private async send(text: string): Promise<void> {
    const { attachment } = this;
    try {
      await this.session.open();
    } catch {
      return this.post({ type: "draft", text });
    }
    this.attachment = undefined;
    await this.session.send(text, attachment);
  }

  /** An edit is taken as its diff shows it, wherever it is decided. */
  private async decide(question: OpenQuestion, optionId: string, comment: string): Promise<void> {
    const option = question.options.find((offered) => offered.optionId === optionId);
    if (option === undefined || !(await confirmed(question, option))) return;
    const { kind } = option;
    const word = comment === "" ? undefined : comment;
    if (question.kind !== "edit") {
      this.questions.choose(question, optionId, word === undefined ? undefined : { comment: word });
    } else if (kind === "allow_once" || kind === "allow_always") await this.proposals.accept(question, kind);
    else await this.proposals.reject(question, word);
  }

  /** As soon as the page can take it. */
  private giveFocus(): void {
    if (!this.ready || !this.wantsFocus) return;
    this.wantsFocus = false;
    this.post({ type: "focus" });
  }

  private post(message: ToPage): void {
    void this.view?.webview.postMessage(message);
  }

  private postState(): void {
    const { problem, modeName, busy, queued, usage, permissions } = this.session;
    const waiting = this.questions.open.length;
    const attachment = this.attachment?.label ?? "";
    this.post({ type: "state", state: { problem, mode: modeName, usage, busy, waiting, unasked: unasked(permissions), queued, attachment } });
    if (this.view !== undefined) {
      this.view.badge = waiting > 0 ? { value: waiting, tooltip: "North waits for you" } : undefined;
    }
  }

  private page(webview: vscode.Webview): string {
    const nonce = randomBytes(16).toString("base64");
    const address = (...names: string[]) => webview.asWebviewUri(vscode.Uri.joinPath(this.extension, ...names)).toString();
    const policy = `default-src 'none'; script-src 'nonce-${nonce}'; style-src ${webview.cspSource}; font-src ${webview.cspSource}; form-action 'none'`;
    return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="${address("out", "codicon.css")}">
<link rel="stylesheet" href="${address("media", "chat.css")}">
<title>North</title>
</head>
<body>
<main id="rows" role="log" aria-label="Conversation" tabindex="0"></main>
<section id="waiting" aria-label="North asks you" hidden></section>
<footer>
<section id="problem" role="alert" hidden></section>
<ul id="queue" aria-label="Waiting to be sent" hidden></ul>
<p id="attachment" hidden><span></span><button type="button" aria-label="Do not attach">×</button></p>
<div id="entry">
<textarea id="input" rows="2" placeholder="Ask North" aria-label="Message to North"></textarea>
<div id="controls">
<button type="button" id="unasked" class="plain" title="Allowed without a question: click to take it back" hidden></button>
<button type="button" id="mode" class="plain" title="Switch mode"></button>
<span id="activity" role="status"></span>
<button type="button" id="stop" class="secondary" hidden>Stop</button>
<button type="button" id="steer" class="secondary" title="For the turn that runs, at its next step (Alt+Enter)" hidden>Steer</button>
<button type="button" id="send">Send</button>
</div>
</div>
</footer>
<script nonce="${nonce}" src="${address("out", "chat.js")}"></script>
</body>
</html>`;
  }
}
