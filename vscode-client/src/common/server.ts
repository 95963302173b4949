/** Starting `north-lsp`, and noticing when it ends by itself. */

import * as vscode from "vscode";
import { CloseAction, ErrorAction, LanguageClient, type LanguageClientOptions } from "vscode-languageclient/node";

import { reason } from "./logger";
import { Problem, remedy } from "./problems";
import { mainFolder } from "./settings";
import { SingleInstance } from "./singleInstance";

/** So many ends within so many milliseconds, and the server is left alone. */
const MANY_CRASHES = 4;
const SHORT_TIME = 3 * 60_000;

/** The running server. When it ends by itself, whoever uses it connects again. */
export class Server implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private readonly instance: SingleInstance<string, LanguageClient>;
  private crashes: number[] = [];
  private isLeft = false;
  private readonly crashed = new vscode.EventEmitter<boolean>();
  private readonly restarted = new vscode.EventEmitter<Promise<void>>();

  /** The server ended by itself; the value tells whether to connect again. */
  readonly onCrash = this.crashed.event;
  /** The server makes place for another one; the value tells when it is gone. Whoever uses it connects again then. */
  readonly onRestart = this.restarted.event;

  constructor(
    private readonly log: vscode.LogOutputChannel,
    /** What the server is told of the editor's documents. */
    private readonly middleware: NonNullable<LanguageClientOptions["middleware"]>,
    find: () => Promise<string>,
    /** The server's settings that the user has made in VS Code. */
    private readonly settings: () => Record<string, unknown>,
    private readonly prepare: (client: LanguageClient) => void,
  ) {
    this.instance = new SingleInstance(
      find,
      (program) => this.start(program),
      (client) => this.end(client),
    );
  }

  /** The client, started at the first call. Throws Problem. */
  connect(): Promise<LanguageClient> {
    return this.instance.get();
  }

  /** The client while there is a server behind it. */
  get running(): LanguageClient | undefined {
    return this.client;
  }

  /** Whether the server has one of ACP's capabilities of sessions. */
  offers(capability: string): boolean {
    const experimental: unknown = this.client?.initializeResult?.capabilities.experimental;
    return has(experimental, "north", "agentCapabilities", "sessionCapabilities", capability);
  }

  /** The user has changed settings of the server in VS Code. */
  async tellSettings(): Promise<void> {
    await this.client?.sendNotification("workspace/didChangeConfiguration", { settings: { north: this.settings() } });
  }

  /** The window goes away: the server ends by itself, when it has ended what it had begun. */
  leave(): void {
    this.isLeft = true;
  }

  stop(): Promise<void> {
    this.client = undefined;
    return this.instance.stop();
  }

  restart(): Promise<void> {
    const stopped = this.stop();
    this.restarted.fire(stopped);
    return stopped;
  }

  dispose(): Promise<void> {
    this.crashed.dispose();
    this.restarted.dispose();
    this.client = undefined;
    return this.instance.close();
  }

  private async start(program: string): Promise<LanguageClient> {
    this.log.info(`Starting ${program} lsp`);
    const client = this.createClient(program);
    this.prepare(client);
    try {
      await client.start();
    } catch (error) {
      await this.end(client);
      const text = reason(error);
      // The program was found: what does not exist is what its first line names.
      const why = text.includes("ENOENT") ? vscode.l10n.t("the Python that it names is gone. Create its environment again.") : text;
      throw unusable(vscode.l10n.t("{0} could not be started: {1}", program, why));
    }
    const about = client.initializeResult?.serverInfo;
    const name = `${about?.name ?? "unknown"} ${about?.version ?? ""}`.trim();
    if (!speaksChat(client)) {
      await this.end(client);
      throw unusable(
        vscode.l10n.t(
          "{0} ({1}) cannot chat with this extension: it is too old, or not North's server. Install a newer north-lsp, or let North start the one that is bundled with it: leave north.server.path empty.",
          program,
          name,
        ),
      );
    }
    this.log.info(`Connected to ${name}`);
    this.client = client;
    return client;
  }

  private createClient(program: string): LanguageClient {
    const client: LanguageClient = new QuietClient(
      "north",
      "North",
      { command: program, args: ["lsp"], options: { cwd: mainFolder()?.uri.fsPath } },
      {
        documentSelector: [{ scheme: "file" }],
        initializationOptions: { north: { acp: true, editorFeatures: false, settings: this.settings(), clientCapabilities: { terminal: true, elicitation: { form: {}, url: {} }, session: { notices: {}, compaction: {} }, _meta: { north: { hunks: true, saveFiles: true, events: true, languageFeatures: true, resumesTurns: true, comesBack: true, nextEdits: true } } } } },
        middleware: this.middleware,
        outputChannel: this.log,
        errorHandler: {
          error: () => ({ action: ErrorAction.Continue, handled: true }),
          closed: () => {
            this.closed(client);
            return { action: CloseAction.DoNotRestart, handled: true };
          },
        },
        initializationFailedHandler: () => false,
      },
    );
    return client;
  }

  private closed(client: LanguageClient): void {
    if (client !== this.client) return;
    this.client = undefined;
    this.instance.markEnded();
    const now = Date.now();
    this.crashes = [...this.crashes.filter((time) => now - time < SHORT_TIME), now];
    const again = this.crashes.length < MANY_CRASHES;
    if (!again) this.crashes = [];
    this.log.error(`The server ended unexpectedly${again ? "; it is started again" : ", once too often"}.`);
    this.crashed.fire(again);
  }

  private async end(client: LanguageClient): Promise<void> {
    if (this.isLeft) return;
    if (this.client === client) this.client = undefined; // its end is no surprise
    try {
      await client.dispose(2_000);
    } catch (error) {
      this.log.debug(`Stopping: ${reason(error)}`);
    }
  }
}

/** What goes wrong is told once, in North's view and its log: not in the client library's words as well. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

function unusable(message: string): Problem {
  return new Problem(message, [remedy("north.openSetting"), remedy("north.showLog"), remedy("north.restartServer")]);
}

/** Whether there is something at the end of these names. */
function has(value: unknown, ...names: string[]): boolean {
  const [name, ...rest] = names;
  if (name === undefined) return value !== undefined && value !== null;
  return typeof value === "object" && value !== null && has(Reflect.get(value, name), ...rest);
}

function speaksChat(client: LanguageClient): boolean {
  const experimental: unknown = client.initializeResult?.capabilities.experimental;
  if (typeof experimental !== "object" || experimental === null || !("north" in experimental)) return false;
  const north = experimental.north;
  return typeof north === "object" && north !== null && "protocolVersion" in north && north.protocolVersion === 1;
}
