/** North's tools that look, for the language models of VS Code's own chat. North itself runs them, so that what it keeps
 * closed is closed for them, too. */

import * as vscode from "vscode";

import type { Session } from "../chat/session";

/** The names of the tools as package.json declares them, and as the server knows them. */
const TOOLS: Readonly<Record<string, string>> = {
  north_find_files: "find_files",
  north_search_text: "search_text",
  north_read_file: "read_file",
};

export function registerTools(ask: Session["ask"]): vscode.Disposable {
  if (typeof (vscode.lm as typeof vscode.lm | undefined)?.registerTool !== "function") return new vscode.Disposable(() => {});
  const tools = Object.entries(TOOLS).map(([name, tool]) =>
    vscode.lm.registerTool<object>(name, {
      async invoke({ input }) {
        const { text } = await ask<{ text: string }>("_north/look", { tool, arguments: input });
        return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(text)]);
      },
    }),
  );
  return vscode.Disposable.from(...tools);
}
