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

interface Workspace {
  workspaceFolders?: { uri: { scheme: string; fsPath: string }; name: string }[];
  getConfiguration(): { get(name: string): unknown };
}

/** Nothing is set; VS Code's trust is switched off. */
export const workspace: Workspace = { getConfiguration: () => ({ get: (name) => (name === "enabled" ? false : undefined) }) };

export function openFolder(path: string): void {
  workspace.workspaceFolders = [{ uri: { scheme: "file", fsPath: path }, name: path }];
}
