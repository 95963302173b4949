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
  toString(): string;
}

export const Uri = {
  parse(text: string): Address {
    const { protocol, pathname } = new URL(text);
    return { scheme: protocol.slice(0, -1), path: pathname, toString: () => text };
  },
};

interface TextDocument {
  uri: Address;
  version: number;
  getText(): string;
}

interface Workspace {
  textDocuments: TextDocument[];
  openTextDocument(uri: Address): Promise<TextDocument>;
  workspaceFolders?: { uri: { scheme: string; fsPath: string }; name: string }[];
  isTrusted: boolean;
  getConfiguration(): { get(name: string, otherwise?: unknown): unknown };
}

/** Settings by their last name. */
export const settings: Record<string, unknown> = {};

export const workspace: Workspace = {
  textDocuments: [],
  isTrusted: true,
  getConfiguration: () => ({ get: (name, otherwise) => settings[name] ?? otherwise }),
  async openTextDocument(uri) {
    const found = workspace.textDocuments.find((document) => document.uri.toString() === uri.toString());
    if (found === undefined) throw new Error(`there is no ${uri.path}`);
    return found;
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

export const window = { visibleTextEditors: [] as { document: unknown; options: object }[] };

export const ProgressLocation = { Notification: 15 };

/** A part that is named by what is bundled, and not used in tests. */
export const env = {};
