/** The few parts of the editor's module that code under test needs outside the editor. */

export class EventEmitter<T> {
  private readonly listeners = new Set<(value: T) => void>();

  readonly event = (listener: (value: T) => void): { dispose(): void } => {
    this.listeners.add(listener);
    return { dispose: () => this.listeners.delete(listener) };
  };

  fire(value: T): void {
    for (const listener of this.listeners) listener(value);
  }

  dispose(): void {
    this.listeners.clear();
  }
}

export const l10n = {
  t(message: string, ...parts: (string | number | boolean)[]): string {
    return message.replace(/\{(\d+)\}/g, (whole, index: string) => String(parts[Number(index)] ?? whole));
  },
};

export const Disposable = {
  from(...parts: { dispose(): unknown }[]): { dispose(): void } {
    return { dispose: () => parts.forEach((part) => part.dispose()) };
  },
};

interface Address {
  scheme: string;
  path: string;
  query?: string;
  fsPath?: string;
  toString(): string;
}

export const Uri = {
  from({ scheme, path, query = "" }: { scheme: string; path: string; query?: string }): Address {
    const text = `${scheme}:${path}?${query}`;
    return { scheme, path, query, toString: () => text };
  },
  parse(text: string): Address {
    const { protocol, pathname } = new URL(text);
    return { scheme: protocol.slice(0, -1), path: pathname, fsPath: pathname, toString: () => text };
  },
  joinPath: (base: Address, ...names: string[]): Address => Uri.parse([base.toString(), ...names].join("/")),
};

interface TextDocument {
  uri: Address;
  version: number;
  getText(): string;
  isDirty?: boolean;
  save?(): Promise<boolean>;
}

export class Range {
  readonly start: Position;
  readonly end: Position;

  constructor(line: number, character: number, endLine: number, endCharacter: number) {
    [this.start, this.end] = [{ line, character }, { line: endLine, character: endCharacter }];
  }
}

const nothing = { dispose(): void {} };
/** An event of the editor's that no test fires. */
const never = (): { dispose(): void } => nothing;

interface Workspace {
  textDocuments: TextDocument[];
  fs: { readFile(uri: Address): Promise<Uint8Array> };
  openTextDocument(uri: Address): Promise<TextDocument>;
  workspaceFile?: object;
  workspaceFolders?: { uri: { scheme: string; fsPath: string }; name: string }[];
  isTrusted: boolean;
  registerFileSystemProvider(): { dispose(): void };
  onDidChangeTextDocument: typeof never;
  onDidChangeConfiguration: EventEmitter<{ affectsConfiguration(name: string): boolean }>["event"];
  getWorkspaceFolder(uri: Address): object | undefined;
  asRelativePath(uri: Address): string;
  onDidSaveTextDocument: typeof never;
  onDidCloseTextDocument: typeof never;
  getConfiguration(): { get(name: string, otherwise?: unknown): unknown; inspect(name: string): { globalValue?: unknown } };
}

/** Files by address, for what reads them as the editor does. */
export const disk = new Map<string, string>();

/** Settings by their last name. */
export const settings: Record<string, unknown> = {};

export const workspace: Workspace = {
  textDocuments: [],
  fs: { readFile: async (uri) => new TextEncoder().encode(disk.get(uri.toString()) ?? "") },
  isTrusted: true,
  registerFileSystemProvider: never,
  onDidChangeTextDocument: never,
  onDidChangeConfiguration: (listener) => settingsChanged.event(listener),
  getWorkspaceFolder: ({ path }) => workspace.workspaceFolders?.find(({ uri }) => path.startsWith(`${uri.fsPath}/`)),
  asRelativePath: ({ path }) => workspace.workspaceFolders?.reduce((name, { uri }) => name.replace(`${uri.fsPath}/`, ""), path) ?? path,
  onDidSaveTextDocument: never,
  onDidCloseTextDocument: never,
  getConfiguration: () => ({ get: (name, otherwise) => settings[name] ?? otherwise, inspect: (name) => ({ globalValue: settings[name] }) }),
  async openTextDocument(uri) {
    const found = workspace.textDocuments.find((document) => document.uri.toString() === uri.toString());
    if (found !== undefined) return found;
    const text = disk.get(uri.toString());
    if (text === undefined) throw new Error(`there is no ${uri.path}`);
    const made = { uri, version: 1, getText: () => text };
    workspace.textDocuments.push(made);
    return made;
  },
};

export function openFolder(path: string): void {
  workspace.workspaceFolders = [{ uri: { scheme: "file", fsPath: path }, name: path }];
}

/** What language servers say about files, by address; `tell` when it has changed. */
const diagnosticsChanged = new EventEmitter<{ uris: readonly Address[] }>();
export const problems = new Map<string, unknown[]>();
export const languages = {
  onDidChangeDiagnostics: diagnosticsChanged.event,
  getDiagnostics: (uri: Address): unknown[] => problems.get(uri.toString()) ?? [],
};

export function tell(...addresses: string[]): void {
  diagnosticsChanged.fire({ uris: addresses.map(Uri.parse) });
}

/** What the editor's own commands answer, by their names, and how they were called. */
export const answers: Record<string, (...given: unknown[]) => unknown> = {};
export const commands = { executeCommand: async (name: string, ...given: unknown[]): Promise<unknown> => answers[name]?.(...given) };

const tabsChanged = new EventEmitter<void>();
/** An editor of the window; `select` tells it what is selected. */
interface Editor {
  document: { uri: Address; getText(range?: unknown): string; offsetAt(position: Position): number };
  selection: { start: Position; end: Position; isEmpty: boolean };
}

interface Position {
  line: number;
  character: number;
}

const activeEditorChanged = new EventEmitter<Editor | undefined>();
export const settingsChanged = new EventEmitter<{ affectsConfiguration(name: string): boolean }>();

/** Shows a text in the active editor, with some lines of it selected (counted from 0), or none. */
export function showEditor(address: string, text: string, first = 0, last = first): void {
  const uri = Uri.parse(address);
  const [start, end] = [{ line: first, character: 0 }, { line: last, character: 0 }];
  const document = { uri: { ...uri, fsPath: uri.path, with: ({ fragment }: { fragment: string }) => ({ toString: () => `${address}#${fragment}` }) }, getText: () => text, offsetAt: ({ line }: Position) => line };
  window.activeTextEditor = { document, selection: { start, end, isEmpty: first === last } };
  activeEditorChanged.fire(window.activeTextEditor);
}

/** A tab with a page of its own. */
function createWebviewPanel(): object {
  const disposed = new EventEmitter<void>();
  const webview = { onDidReceiveMessage: never, postMessage: async () => false, asWebviewUri: () => "" };
  return { webview, onDidDispose: disposed.event, dispose: () => disposed.fire(undefined) };
}

export const window = {
  createWebviewPanel,
  registerWebviewPanelSerializer: never,
  registerWebviewViewProvider: never,
  withProgress: async (_: object, task: () => Promise<unknown>): Promise<unknown> => task(),
  onDidChangeWindowState: never,
  activeTextEditor: undefined as Editor | undefined,
  onDidChangeActiveTextEditor: activeEditorChanged.event,
  onDidChangeVisibleTextEditors: never,
  visibleTextEditors: [] as { document: unknown; options: object }[],
  onDidChangeTextEditorSelection: never,
  tabGroups: {
    all: [] as { tabs: unknown[] }[],
    activeTabGroup: {},
    close: async (): Promise<boolean> => true,
    onDidChangeTabs: tabsChanged.event,
  },
};

export class TabInputTextDiff {}

export class TabInputText {
  constructor(readonly uri: Address) {}
}

/** A file in a tab, or none with an empty address. */
export function showTab(address: string): void {
  window.tabGroups.all = address === "" ? [] : [{ tabs: [{ input: new TabInputText(Uri.parse(address)) }] }];
  tabsChanged.fire();
}

export class CancellationError extends Error {}

export class ThemeIcon {
  constructor(readonly id: string) {}
}

export const ViewColumn = { Active: -1 };

export const ProgressLocation = { Notification: 15 };

export const version = "1.100.0";

/** A part that is named by what is bundled, and not used in tests. */
export const env = { machineId: "this computer" };
