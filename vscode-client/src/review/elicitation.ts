/** Forms that North has the user fill in, and pages that it has them open: ACP's elicitation. Each is a question of its
 * conversation. */

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import { openAddress } from "../chat/opening";
import { type FormField, type FormValues, fieldsOf, inWords, misfit } from "../forms";
import type { OpenQuestion, Questions } from "./questions";

const ANSWER = "answer";
const DECLINE = "decline";

interface Answer {
  action: "accept" | "decline" | "cancel";
  content?: FormValues;
}

const CANCEL: Answer = { action: "cancel" };

/** What is asked: a form has fields, a page has an address. */
interface Asked {
  sessionId: string;
  message: string;
  fields: FormField[];
  address: string;
}

export function listenForForms(client: LanguageClient, questions: Questions): void {
  client.onRequest("elicitation/create", (params: unknown, token: vscode.CancellationToken) => ask(params, questions, token));
}

/** Answers as the user does; what cannot be read, or is no address of the web, stays without an answer. */
export async function ask(params: unknown, questions: Questions, token: vscode.CancellationToken): Promise<Answer> {
  const asked = read(params);
  if (asked === undefined) return CANCEL;
  const { sessionId, message, fields, address } = asked;
  const [title = "", ...rest] = message.split("\n");
  const text = [rest.join("\n").trim(), address === "" ? "" : `\`\`\`\n${address}\n\`\`\``].filter((part) => part !== "").join("\n\n");
  const { outcome, _meta } = await questions.askForm(
    {
      sessionId,
      toolCall: { toolCallId: "", title, content: text === "" ? [] : [{ type: "content", content: { type: "text", text } }] },
      options: [
        { optionId: ANSWER, name: address === "" ? vscode.l10n.t("Answer") : vscode.l10n.t("Open in Browser"), kind: "allow_once" },
        { optionId: DECLINE, name: address === "" ? vscode.l10n.t("Do Not Answer") : vscode.l10n.t("Not Now"), kind: "reject_once" },
      ],
      _meta: { north: { question: { kind: "choice", text: title } } },
    },
    fields,
    token,
  );
  if (outcome.outcome === "cancelled") return CANCEL;
  if (outcome.optionId !== ANSWER) return { action: "decline" };
  if (address === "") return { action: "accept", content: _meta?.north.values ?? {} };
  return { action: (await openAddress(address)) ? "accept" : "decline" };
}

/** The user has answered a form; values that do not fit it are no answer. */
export function fill(questions: Questions, question: OpenQuestion, values: FormValues): void {
  const { fields } = question;
  if (fields === undefined || misfit(fields, values) !== undefined) return;
  questions.choose(question, ANSWER, { values }, inWords(fields, values));
}

function read(params: unknown): Asked | undefined {
  if (typeof params !== "object" || params === null) return undefined;
  const { mode, sessionId, message, requestedSchema, url } = params as Record<string, unknown>;
  if (typeof sessionId !== "string" || typeof message !== "string") return undefined;
  if (mode === "url") {
    const address = webAddress(url);
    return address === undefined ? undefined : { sessionId, message, fields: [], address };
  }
  const fields = mode === "form" ? fieldsOf(requestedSchema) : undefined;
  return fields === undefined ? undefined : { sessionId, message, fields, address: "" };
}

/** As it is asked for: hidden and foreign characters are spelled out. */
function webAddress(url: unknown): string | undefined {
  if (typeof url !== "string" || !URL.canParse(url)) return undefined;
  const { protocol, href } = new URL(url);
  return protocol === "https:" || protocol === "http:" ? href : undefined;
}
