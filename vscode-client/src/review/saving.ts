/** Writing to the disk what an accepted edit has changed, so that what runs next reads it. */

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import type { SaveParams, SaveResult } from "../acp";
import { reason } from "../common/logger";
import { savesEdits } from "../common/settings";

/** The server waits for ten seconds; a formatter may take long. */
const PATIENCE_MS = 8_000;

/** Answers the server's request for it. Only documents that nobody has changed since are saved. */
export function saveOnRequest(client: LanguageClient): void {
  client.onRequest("_north/saveFiles", async ({ files }: SaveParams): Promise<SaveResult> => {
    const result: SaveResult = { saved: [], failed: [] };
    await Promise.all(
      files.map(async ({ uri, version }) => {
        const problem = await save(uri, version).catch((error: unknown) => reason(error));
        if (problem === "") result.saved.push(uri);
        else result.failed.push({ uri, reason: problem });
      }),
    );
    return result;
  });
}

/** Why it was not saved, or nothing. */
async function save(uri: string, version: number): Promise<string> {
  const wanted = vscode.Uri.parse(uri).toString();
  const document = vscode.workspace.textDocuments.find((open) => open.uri.toString() === wanted);
  if (document === undefined) return "it is not open in the editor any more";
  if (document.version !== version) return "changed since";
  if (!document.isDirty) return "";
  if (!savesEdits()) return "the setting north.saveAcceptedEdits is off";
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<"late">((resolve) => (timer = setTimeout(() => resolve("late"), PATIENCE_MS)));
  const saved = await Promise.race([document.save(), late]);
  clearTimeout(timer);
  if (saved === "late") return "saving takes too long";
  return saved ? "" : "the editor could not save it: see its message";
}
