/** `@north` in VS Code's own chat: a conversation of its own for each of VS Code's. Edits and commands are asked about by
 * North, in its view and its diffs, as they always are. */

import * as vscode from "vscode";

import type { PromptBlock } from "../acp";
import { reason } from "../common/logger";
import { fileOrFolder } from "../composer/attachmentSources";
import { linesOf } from "../composer/chips";
import type { SideConversations } from "./sideConversations";
import { partOf } from "./attachments";
import { DOCUMENT, EXPLAIN, FIX, TESTS } from "./prompts";
import { ChatParts } from "./chatParts";

const ID = "north.participant";
/** Ends the wait of one of its conversations: a command that nothing else offers. */
const RETRY = "north.retryAside";
const REQUESTS: Readonly<Record<string, string>> = { explain: EXPLAIN, fix: FIX, tests: TESTS, document: DOCUMENT };

export function registerParticipant(aside: SideConversations, icon: vscode.Uri): vscode.Disposable {
  // Editors made of VS Code may have no chat.
  if (typeof (vscode.chat as typeof vscode.chat | undefined)?.createChatParticipant !== "function") return new vscode.Disposable(() => {});
  const participant = vscode.chat.createChatParticipant(ID, async (request, context, stream, token) => {
    try {
      return await answer(aside, request, context, stream, token);
    } catch (error) {
      return { errorDetails: { message: reason(error) } };
    }
  });
  participant.iconPath = icon;
  const retry = vscode.commands.registerCommand(RETRY, (id: unknown) => (typeof id === "string" ? aside.retryNow(id) : undefined));
  return vscode.Disposable.from(participant, retry);
}

async function answer(
  aside: SideConversations,
  request: vscode.ChatRequest,
  { history }: vscode.ChatContext,
  stream: vscode.ChatResponseStream,
  token: vscode.CancellationToken,
): Promise<vscode.ChatResult> {
  const begun = begunIn(history);
  const sessionId = (begun === undefined ? undefined : await aside.reopen(begun)) ?? (await aside.begin());
  const telling = new ChatParts();
  const { stopReason, _meta } = await aside.ask(
    sessionId,
    [{ type: "text", text: textOf(request) }, ...(await blocksOf(request.references))],
    {
      update(update) {
        const said = telling.partOf(update);
        if (said?.kind === "text") stream.markdown(said.text);
        else if (said !== undefined) stream.progress(said.text);
        if (said?.kind === "wait") stream.button({ command: RETRY, title: vscode.l10n.t("Try now"), arguments: [sessionId] });
      },
      asks() {
        stream.progress(vscode.l10n.t("North asks you in its own view"));
        stream.button({ command: "north.showChat", title: vscode.l10n.t("Show North") });
      },
    },
    token,
  );
  if (stopReason !== "end_turn" && stopReason !== "cancelled") {
    stream.markdown(`\n\n*${vscode.l10n.t("The turn ended early: {0}.", stopReason)}*`);
  }
  const failed = _meta?.north?.error !== undefined ? { errorDetails: { message: vscode.l10n.t("North's model failed.") } } : {};
  return { metadata: { sessionId }, ...failed };
}

/** North's conversation that this one of VS Code's has gone on in so far. */
function begunIn(history: vscode.ChatContext["history"]): string | undefined {
  for (const turn of [...history].reverse()) {
    if (!(turn instanceof vscode.ChatResponseTurn) || turn.participant !== ID) continue;
    const id: unknown = turn.result.metadata?.sessionId;
    if (typeof id === "string") return id;
  }
  return undefined;
}

function textOf({ command, prompt }: vscode.ChatRequest): string {
  const asked = command === undefined ? undefined : REQUESTS[command];
  return [asked, prompt.trim()].filter((part) => part !== undefined && part !== "").join("\n\n") || EXPLAIN;
}

/** What the user put into the message with `#`. */
async function blocksOf(references: readonly vscode.ChatPromptReference[]): Promise<PromptBlock[]> {
  const blocks: PromptBlock[] = [];
  for (const { id, value } of references) {
    if (value instanceof vscode.Uri && value.scheme === "file") {
      const { type } = await vscode.workspace.fs.stat(value);
      blocks.push(fileOrFolder(value, (type & vscode.FileType.Directory) !== 0).block);
    } else if (value instanceof vscode.Location && value.uri.scheme === "file") {
      const document = await vscode.workspace.openTextDocument(value.uri);
      blocks.push(partOf(document, linesOf(value.range.start, value.range.end)).block);
    } else if (typeof value === "string") {
      blocks.push({ type: "resource", resource: { uri: `reference:${id}`, text: value } });
    }
  }
  return blocks;
}
