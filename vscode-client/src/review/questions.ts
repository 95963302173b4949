/** The server's permission requests: each waits until the user chooses one of the offered options. */

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import {
  CANCELLED,
  type ChangedFile,
  type Diff,
  diffsOf,
  type Parts,
  type PermissionOption,
  type PermissionParams,
  type PermissionResult,
  textsOf,
  type ToolCall,
} from "../acp";
import type { Transcript } from "../chat/transcript";
import { visible } from "../common/visible";
import type { FormField } from "../forms";
import type { Question } from "../messages";
import { inUsersLanguage, withUsersLanguage } from "./optionNames";

export interface OpenQuestion {
  readonly id: string;
  /** The conversation that asks. */
  readonly sessionId: string;
  readonly kind: Question["kind"];
  readonly title: string;
  /** The whole command, where it is one. */
  readonly command: string | undefined;
  /** What is to be known of the command beside it, without marks: where it runs, what is dangerous. */
  readonly details: string[];
  readonly diffs: Diff[];
  readonly options: PermissionOption[];
  /** Only of a form. */
  readonly fields: readonly FormField[] | undefined;
  /** By path; empty when the server does not tell them. */
  readonly hunks: ReadonlyMap<string, ChangedFile>;
  readonly settle: (result: PermissionResult, decision: string) => void;
  /** Ends when the question is decided, however. */
  readonly done: Promise<void>;
}

export class Questions implements vscode.Disposable {
  open: OpenQuestion[] = [];
  private asked = 0;
  /** The rows of decided edits, by the calls that asked. */
  private readonly decided = new Map<string, Question>();
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly asking = new vscode.EventEmitter<OpenQuestion>();

  readonly onChange = this.changed.event;
  readonly onAsk = this.asking.event;

  /** `transcriptOf`: that of a conversation, by its id, as long as it is shown. */
  constructor(private readonly transcriptOf: (sessionId: string) => Transcript | undefined) {}

  /** Nothing is answered: the window goes away, and the server asks again when it is back. An answer would be the user's. */
  dispose(): void {
    this.open = [];
    this.changed.dispose();
    this.asking.dispose();
  }

  /** Does something about a question, unless it is decided by now. */
  async whileOpen(id: string, act: (question: OpenQuestion) => Promise<unknown>): Promise<void> {
    const question = this.open.find((open) => open.id === id);
    if (question !== undefined) await act(question);
  }

  /** Answers a client's permission requests; those of a conversation that is not shown are refused. */
  listen(client: LanguageClient): void {
    client.onRequest("session/request_permission", (params: PermissionParams, token: vscode.CancellationToken) => {
      const transcript = this.transcriptOf(params.sessionId);
      return transcript === undefined ? CANCELLED : this.ask(params, transcript, token);
    });
  }

  /** Asks a form as one question: an answer has the values of its fields. */
  async askForm(params: PermissionParams, fields: FormField[], token: vscode.CancellationToken): Promise<PermissionResult> {
    const transcript = this.transcriptOf(params.sessionId);
    return transcript === undefined ? CANCELLED : this.ask(params, transcript, token, fields);
  }

  /** What a conversation asks, oldest first. */
  openIn(sessionId: string): OpenQuestion[] {
    return this.open.filter((question) => question.sessionId === sessionId);
  }

  /** The edits or the commands that wait, oldest first. */
  of(kind: Question["kind"]): OpenQuestion[] {
    return this.open.filter((question) => question.kind === kind);
  }

  /** `how` says in words what is left of an edit. */
  choose(question: OpenQuestion, optionId: string, parts?: Parts, how = ""): void {
    const option = question.options.find((offered) => offered.optionId === optionId);
    if (option === undefined) return;
    const meta = parts === undefined || Object.keys(parts).length === 0 ? {} : { _meta: { north: parts } };
    const name = parts?.scope === undefined ? option.name : vscode.l10n.t("{0}, in this conversation", option.name);
    if (parts?.values !== undefined) return question.settle({ outcome: { outcome: "selected", optionId }, ...meta }, how === "" ? name : how);
    const once = parts?.command === undefined ? name : vscode.l10n.t("{0}, changed to {1}", name, parts.command);
    const decision = `${once}${how === "" ? "" : ` (${how})`}${parts?.comment === undefined ? "" : `: ${parts.comment}`}`;
    question.settle({ outcome: { outcome: "selected", optionId }, ...meta }, decision);
  }

  /** Only an option that the server offers can be chosen. */
  chooseKind(question: OpenQuestion, kind: PermissionOption["kind"], parts?: Parts, how = ""): void {
    const option = question.options.find((offered) => offered.kind === kind);
    if (option !== undefined) this.choose(question, option.optionId, parts, how);
  }

  cancelAll(sessionId: string): void {
    for (const question of this.openIn(sessionId)) question.settle(CANCELLED, vscode.l10n.t("Stop"));
  }

  /** The row of a decided edit, by the call that asked. */
  decisionOf(call: string): Question | undefined {
    return this.decided.get(call);
  }

  private ask(
    { sessionId, toolCall, options: offered, _meta }: PermissionParams,
    transcript: Transcript,
    token: vscode.CancellationToken,
    fields?: FormField[],
  ): Promise<PermissionResult> {
    this.asked += 1;
    const id = `question:${this.asked}`;
    const title = toolCall.title ?? "";
    const diffs = diffsOf(toolCall);
    const options = offered.map(inUsersLanguage);
    const asked = _meta?.north?.question;
    const kind = asked?.kind ?? guessKind(toolCall);
    const { command: raw } = toolCall.rawInput ?? {};
    const command = kind === "command" && typeof raw === "string" ? raw : undefined;
    const hunks = new Map((_meta?.north?.files ?? []).map((file) => [file.path, file]));
    const details = command === undefined ? [] : textsOf(toolCall).slice(1).map((text) => text.replaceAll("**", ""));
    const row: Question = {
      kind,
      id,
      title,
      ...headingOf(kind, asked?.text ?? title, diffs.length),
      markdown: saidOnce(textsOf(toolCall), asked?.text),
      options: options.map(({ optionId, name, kind }) => ({
        id: optionId,
        name,
        rejects: kind.startsWith("reject"),
        lasts: kind === "allow_always",
      })),
      hasDiff: diffs.length > 0,
      ...(command !== undefined && visible(command) === command ? { command } : {}),
      ...(fields === undefined ? {} : { fields: fields.map(withUsersLanguage) }),
    };
    return new Promise((resolve) => {
      let finish = (): void => {};
      const done = new Promise<void>((end) => (finish = end));
      const settle = (result: PermissionResult, decision: string): void => {
        if (!this.open.includes(question)) return;
        this.open = this.open.filter((other) => other !== question);
        cancelled.dispose();
        if (transcript.get(id) !== undefined) transcript.put({ ...row, decision });
        if (kind === "edit") this.decided.set(toolCall.toolCallId, { ...row, decision });
        resolve(result);
        finish();
        this.changed.fire();
      };
      const question: OpenQuestion = { id, sessionId, kind, title, command, details, diffs, options, fields, hunks, settle, done };
      const cancelled = token.onCancellationRequested(() => settle(CANCELLED, vscode.l10n.t("Stop")));
      this.open.push(question);
      transcript.put(row);
      this.changed.fire();
      this.asking.fire(question);
    });
  }
}

/** The texts of a question; for other clients they begin with it, which is the heading here. */
function saidOnce([first = "", ...rest]: string[], question: string | undefined): string {
  const begins = question !== undefined && (first === question || first.startsWith(`${question}\n`));
  return [begins ? first.slice(question.length).trimStart() : first, ...rest].filter((text) => text !== "").join("\n\n");
}

/** For a server that does not say what it asks. */
function guessKind(call: ToolCall): Question["kind"] {
  if (call.kind === "execute") return "command";
  return diffsOf(call).length > 0 || ["edit", "delete", "move"].includes(call.kind ?? "") ? "edit" : "choice";
}

/** Of several files the heading says how many they are, and which ones stands below it. */
function headingOf(kind: Question["kind"], text: string, files: number): Pick<Question, "heading" | "about"> {
  const { t } = vscode.l10n;
  if (kind === "command") return { heading: t("North asks to run this command") };
  if (kind === "edit") return files > 1 ? { heading: t("North asks to change {0} files", files), about: text } : { heading: t("North asks to change files: {0}", text) };
  return { heading: text.startsWith("North ") ? text : t("North asks: {0}", text) };
}
