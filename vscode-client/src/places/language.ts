/** The editor's language features and problems, for the server: `_north/languageFeature`. They only look: what a rename
 * or a formatter would change is told, and goes through North's review like every edit. */

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import { digestOf, editsOf, hoverText, type Place, placesOf, type Position, rangeOf, signatureText, type Symbol, symbolsOf } from "./answers";
import { codeOf, severityOf } from "./problems";

const MOST_PROBLEMS = 500;
/** How long the first new problems may take after a change, how long it is quiet when all are there, and how long in all. */
const FIRST_MS = 1_000;
const QUIET_MS = 300;
const ALL_MS = 4_000;
/** So many changes of a kind of file without a word about it, and nobody is waited for. */
const MOST_SILENT = 2;

interface Params {
  action: string;
  /** Of a file; not for `workspaceSymbols`, and without it `diagnostics` are those of all files. */
  uri?: string;
  position?: Position;
  query?: string;
  newName?: string;
  /** The files were changed just now: wait for what the language servers say about that. */
  uris?: string[];
  wait?: boolean;
}

type Answer = Record<string, unknown>;

export class LanguageFeatures implements vscode.Disposable {
  /** How often nothing was said about a changed file, by the ending of its name. */
  private readonly silent = new Map<string, number>();
  private readonly listener = vscode.languages.onDidChangeDiagnostics(({ uris }) => {
    for (const uri of uris) this.silent.delete(endingOf(uri));
  });

  listen(client: LanguageClient): void {
    client.onRequest("_north/languageFeature", (params: Params, token: vscode.CancellationToken) =>
      params.action === "diagnostics" ? this.diagnostics(params, token) : answer(params),
    );
  }

  dispose(): void {
    this.listener.dispose();
  }

  private async diagnostics(params: Params, token: vscode.CancellationToken): Promise<Answer> {
    const named = params.uris ?? (params.uri === undefined ? undefined : [params.uri]);
    if (named === undefined) {
      const all = vscode.languages.getDiagnostics().flatMap(([uri, found]) => rows(uri, found));
      return { diagnostics: all.slice(0, MOST_PROBLEMS) };
    }
    const files = named.map(fileOf);
    // No file is opened for this: what a hidden document holds may be older than the disk, and edits would go there.
    // Of a file that is not open nothing is said, and so nothing is waited for.
    if (params.wait === true) await this.settled(openOf(files), token);
    const found = files.flatMap((uri) => rows(uri, vscode.languages.getDiagnostics(uri)));
    return { diagnostics: found.slice(0, MOST_PROBLEMS), known: openOf(files).map(String) };
  }

  private async settled(files: readonly vscode.Uri[], token: vscode.CancellationToken): Promise<void> {
    const answering = files.filter((uri) => (this.silent.get(endingOf(uri)) ?? 0) < MOST_SILENT);
    if (answering.length === 0) return;
    if (await settling(answering, token)) return;
    for (const ending of new Set(answering.map(endingOf))) this.silent.set(ending, (this.silent.get(ending) ?? 0) + 1);
  }
}

function openOf(files: readonly vscode.Uri[]): vscode.Uri[] {
  const open = new Set(vscode.workspace.textDocuments.map(({ uri }) => uri.toString()));
  return files.filter((uri) => open.has(uri.toString()));
}

function endingOf({ path }: vscode.Uri): string {
  return /[^./]*$/.exec(path)?.[0] ?? "";
}

async function answer(params: Params): Promise<Answer> {
  const { action } = params;
  if (action === "workspaceSymbols") return { symbols: await workspaceSymbols(params.query ?? "") };
  const document = await opened(params.uri);
  const { uri } = document;
  if (action === "symbols") return { symbols: await documentSymbols(uri) };
  if (action === "format") return format(document);
  const at = positionOf(params.position);
  switch (action) {
    case "definition":
      return { locations: await places("vscode.executeDefinitionProvider", uri, at) };
    case "typeDefinition":
      return { locations: await places("vscode.executeTypeDefinitionProvider", uri, at) };
    case "implementation":
      return { locations: await places("vscode.executeImplementationProvider", uri, at) };
    case "references":
      return { locations: await places("vscode.executeReferenceProvider", uri, at) };
    case "hover": {
      const hovers = await vscode.commands.executeCommand<vscode.Hover[] | undefined>("vscode.executeHoverProvider", uri, at);
      return { text: hoverText(hovers ?? []) };
    }
    case "signature": {
      const help = await vscode.commands.executeCommand<vscode.SignatureHelp | undefined>("vscode.executeSignatureHelpProvider", uri, at);
      return { text: signatureText(help?.signatures ?? [], help?.activeSignature ?? 0) };
    }
    case "rename":
      return rename(uri, at, params.newName ?? "");
    default:
      throw new Error(`there is no language feature ${action}`);
  }
}

/** Language servers answer about files that are open; it is not shown for that. */
async function opened(uri: string | undefined): Promise<vscode.TextDocument> {
  return vscode.workspace.openTextDocument(fileOf(uri));
}

function fileOf(text: string | undefined): vscode.Uri {
  const uri = vscode.Uri.parse(text ?? "", true);
  if (uri.scheme !== "file") throw new Error("only files have language features");
  return uri;
}

function positionOf(position: Position | undefined): vscode.Position {
  if (position === undefined) throw new Error("position is missing");
  return new vscode.Position(position.line, position.character);
}

type Found = vscode.Location | vscode.LocationLink;

async function places(command: string, uri: vscode.Uri, at: vscode.Position): Promise<Place[]> {
  return placesOf((await vscode.commands.executeCommand<Found[] | undefined>(command, uri, at)) ?? []);
}

async function documentSymbols(uri: vscode.Uri): Promise<Symbol[]> {
  type Found = (vscode.DocumentSymbol | vscode.SymbolInformation)[] | undefined;
  return symbolsOf((await vscode.commands.executeCommand<Found>("vscode.executeDocumentSymbolProvider", uri)) ?? [], uri);
}

async function workspaceSymbols(query: string): Promise<Symbol[]> {
  const found = await vscode.commands.executeCommand<vscode.SymbolInformation[] | undefined>("vscode.executeWorkspaceSymbolProvider", query);
  return symbolsOf(found ?? [], "");
}

async function rename(uri: vscode.Uri, at: vscode.Position, newName: string): Promise<Answer> {
  const edit = await vscode.commands.executeCommand<vscode.WorkspaceEdit>("vscode.executeDocumentRenameProvider", uri, at, newName);
  const files = edit.entries().map(([file, edits]) => ({ uri: file.toString(), edits: editsOf(edits) }));
  // `size` counts the moves of files as well, which this edit does not tell.
  if (edit.size > files.length) throw new Error("the language server would move files as well: rename them one by one");
  return { files };
}

/** With a digest of the text that was formatted: a hidden document may be older than the disk. Nothing comes back where
 * there is no formatter, and where there is nothing for it to do. */
async function format(document: vscode.TextDocument): Promise<Answer> {
  const { uri, version } = document;
  const text = document.getText();
  const shown = vscode.window.visibleTextEditors.find((editor) => editor.document === document)?.options;
  const settings = vscode.workspace.getConfiguration("editor", document);
  const options = {
    tabSize: shown?.tabSize ?? settings.get("tabSize", 4),
    insertSpaces: shown?.insertSpaces ?? settings.get("insertSpaces", true),
  };
  const edits = await vscode.commands.executeCommand<vscode.TextEdit[] | undefined>("vscode.executeFormatDocumentProvider", uri, options);
  if (document.version !== version) throw new Error("the text has changed while it was formatted");
  return { edits: editsOf(edits ?? []), sha256: digestOf(text) };
}

function rows(uri: vscode.Uri, found: readonly vscode.Diagnostic[]): Answer[] {
  if (uri.scheme !== "file") return [];
  return found.map(({ range, severity, message, source, code }) => ({
    uri: uri.toString(),
    range: rangeOf(range),
    severity: severityOf(severity),
    message,
    source,
    code: codeOf(code),
  }));
}

/** Until nothing new has been said about the files for a while; tells whether anything was said at all. */
function settling(files: readonly vscode.Uri[], token: vscode.CancellationToken): Promise<boolean> {
  const names = new Set(files.map(String));
  return new Promise((resolve) => {
    let said = false;
    const finish = (): void => {
      clearTimeout(quiet);
      clearTimeout(end);
      listeners.dispose();
      resolve(said);
    };
    const end = setTimeout(finish, ALL_MS);
    let quiet = setTimeout(finish, FIRST_MS);
    const listeners = vscode.Disposable.from(
      vscode.languages.onDidChangeDiagnostics(({ uris }) => {
        if (!uris.some((uri) => names.has(uri.toString()))) return;
        said = true;
        clearTimeout(quiet);
        quiet = setTimeout(finish, QUIET_MS);
      }),
      token.onCancellationRequested(finish),
    );
  });
}
