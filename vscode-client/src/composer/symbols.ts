/** Names that VS Code's language servers know, for an `@` in the input. */

import * as vscode from "vscode";

import { partOf } from "../places/attachments";
import type { FoundSymbol } from "../messages";
import { type Attachment, linesOf, placeOf } from "./chips";
import { bestSymbols, innermost } from "./symbolRanks";

const MOST_REMEMBERED = 200;

export class Symbols {
  /** Those that were offered: only they can be attached. */
  private readonly offered = new Map<string, vscode.SymbolInformation>();

  /** The best of those that a word finds in the open folders. */
  async find(query: string): Promise<FoundSymbol[]> {
    if (!/^[\p{L}_$][\p{L}\p{N}_$]+$/u.test(query)) return [];
    const found = await vscode.commands
      .executeCommand<vscode.SymbolInformation[] | undefined>("vscode.executeWorkspaceSymbolProvider", query)
      .then(undefined, () => undefined);
    const inside = (found ?? []).filter(({ location: { uri } }) => uri.scheme === "file" && vscode.workspace.getWorkspaceFolder(uri) !== undefined);
    if (this.offered.size > MOST_REMEMBERED) this.offered.clear();
    return bestSymbols(inside, query).map((symbol) => {
      const { uri, range } = symbol.location;
      const place = placeOf(vscode.workspace.asRelativePath(uri), [range.start.line + 1, range.start.line + 1]);
      const id = `${place} ${symbol.name}`;
      this.offered.set(id, symbol);
      return { id, name: symbol.name, place };
    });
  }

  /** All lines of what has the name. */
  async attachment(id: string): Promise<Attachment | undefined> {
    const symbol = this.offered.get(id);
    if (symbol === undefined) return undefined;
    const { uri, range } = symbol.location;
    const document = await vscode.workspace.openTextDocument(uri);
    const all = await vscode.commands.executeCommand<(vscode.DocumentSymbol | vscode.SymbolInformation)[] | undefined>("vscode.executeDocumentSymbolProvider", uri);
    const nested = (all ?? []).filter((one): one is vscode.DocumentSymbol => "children" in one);
    const whole = innermost(nested, symbol.name, range.start.line)?.range ?? range;
    const part = partOf(document, linesOf(whole.start, whole.end));
    return { ...part, label: vscode.l10n.t("{0} in {1}", symbol.name, part.label), detail: vscode.l10n.t("What {0} is in {1}", symbol.name, part.label) };
  }
}
