/** The editor's language features and problems, for the server: `_north/languageFeature`. They only look: what a rename
 * or a formatter would change is told, and goes through North's review like every edit. */

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import { digestOf, editsOf, hoverText, type Place, placesOf, type Position, rangeOf, signatureText, type Symbol, symbolsOf } from "./answers";
import type { HiddenDocuments } from "./hiddenDocuments";
import { codeOf, severityOf } from "./problems";
import { isTypeScript, typeScriptProblems } from "./typescript";

const MOST_PROBLEMS = 500;
interface Patience {
  /** How long the first new problems may take after a change, how long it is quiet when all are there, and how long in all. */
  first: number;
  quiet: number;
  all: number;
}

const OPEN: Patience = { first: 1_000, quiet: 300, all: 4_000 };
/** For a file that was not open a language server may have to start. The server waits for 8 s. */
const OPENED: Patience = { first: 4_000, quiet: 1_000, all: 7_000 };
/** So many files of an edit are opened for their problems. */
const MOST_OPENED = 10;
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

  constructor(private readonly hidden: HiddenDocuments) {}

  listen(client: LanguageClient): void {
    client.onRequest("_north/languageFeature", (params: Params, token: vscode.CancellationToken) =>
      params.action === "diagnostics" ? this.diagnostics(params, token) : answer(params, this.hidden),
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
    const [said, asked] = params.wait === true ? await this.settled(files, token) : [new Set<string>(), []];
    const found = files.flatMap((uri) => rows(uri, vscode.languages.getDiagnostics(uri)));
    // Of a file that the user has not opened, something is known only where something was said.
    const known = files.filter((uri) => this.isOpen(uri) || said.has(uri.toString()) || vscode.languages.getDiagnostics(uri).length > 0);
    return { diagnostics: [...found, ...asked].slice(0, MOST_PROBLEMS), known: known.map(String) };
  }

  /** Waits for what is said about files that have changed, those included that nobody has open. Returns about which, and
   * the problems that were had only by asking. */
  private async settled(all: readonly vscode.Uri[], token: vscode.CancellationToken): Promise<[Set<string>, Answer[]]> {
    const askedFor = all.filter((uri) => isTypeScript(uri) && !this.isOpen(uri)).slice(0, MOST_OPENED);
    const files = all.filter((uri) => !askedFor.includes(uri));
    const [said, asked] = await Promise.all([this.waited(files, token), Promise.all(askedFor.map((uri) => this.ofTypeScript(uri)))]);
    askedFor.forEach((uri, index) => asked[index] !== undefined && said.add(uri.toString()));
    return [said, asked.flatMap((found) => found ?? [])];
  }

  private async ofTypeScript(uri: vscode.Uri): Promise<Answer[] | undefined> {
    const late = new Promise<undefined>((resolve) => setTimeout(resolve, OPENED.all, undefined).unref());
    const asked = this.hidden.open(uri).then(() => typeScriptProblems(uri), () => undefined);
    return (await Promise.race([asked, late]))?.map((problem) => ({ uri: uri.toString(), ...problem }));
  }

  private async waited(files: readonly vscode.Uri[], token: vscode.CancellationToken): Promise<Set<string>> {
    const answering = files.filter((uri) => (this.silent.get(endingOf(uri)) ?? 0) < MOST_SILENT);
    const closed = answering.filter((uri) => !this.isOpen(uri)).slice(0, MOST_OPENED);
    const wanted = answering.filter((uri) => this.isOpen(uri) || closed.includes(uri));
    if (wanted.length === 0) return new Set();
    const settled = settling(wanted, closed.length > 0 ? OPENED : OPEN, token);
    // One that is no text, or gone, has no problems either.
    for (const uri of closed) void this.hidden.open(uri).then(undefined, () => undefined);
    const said = await settled;
    if (said.size === 0) for (const ending of new Set(wanted.map(endingOf))) this.silent.set(ending, (this.silent.get(ending) ?? 0) + 1);
    return said;
  }

  /** The user has it open. */
  private isOpen(file: vscode.Uri): boolean {
    return !this.hidden.has(file) && vscode.workspace.textDocuments.some(({ uri }) => uri.toString() === file.toString());
  }
}

function endingOf({ path }: vscode.Uri): string {
  return /[^./]*$/.exec(path)?.[0] ?? "";
}

async function answer(params: Params, hidden: HiddenDocuments): Promise<Answer> {
  const { action } = params;
  if (action === "workspaceSymbols") return { symbols: await workspaceSymbols(params.query ?? "") };
  // Language servers answer about files that are open; it is not shown for that.
  const document = await hidden.open(fileOf(params.uri));
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

/** Until nothing new has been said about the files for a while; tells about which anything was said. */
function settling(files: readonly vscode.Uri[], patience: Patience, token: vscode.CancellationToken): Promise<Set<string>> {
  const names = new Set(files.map(String));
  return new Promise((resolve) => {
    const said = new Set<string>();
    const finish = (): void => {
      clearTimeout(quiet);
      clearTimeout(end);
      listeners.dispose();
      resolve(said);
    };
    const end = setTimeout(finish, patience.all);
    let quiet = setTimeout(finish, patience.first);
    const listeners = vscode.Disposable.from(
      vscode.languages.onDidChangeDiagnostics(({ uris }) => {
        const about = uris.map(String).filter((uri) => names.has(uri));
        if (about.length === 0) return;
        for (const uri of about) said.add(uri);
        clearTimeout(quiet);
        quiet = setTimeout(finish, patience.quiet);
      }),
      token.onCancellationRequested(finish),
    );
  });
}
