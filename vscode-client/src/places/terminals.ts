/** Commands in VS Code's terminals, for the server: ACP's `terminal/*`. Each gets a terminal of its own, in which the user
 * can look and type; shell integration tells what it printed and how it ended. */

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import { showInfo } from "../common/notices";
import { CLOSED, type Exit, exitOf, Output, terminalFor } from "./output";
import { shortened } from "./problems";

const DEFAULT_LIMIT = 50_000;
const MOST_BYTES = 1_000_000;
/** The server gives up after 30 s. */
const INTEGRATION_MS = 25_000;
const KILL_MS = 2_000;
const LAST_OUTPUT_MS = 500;
/** Ended ones that stay open to be read. */
const MOST_ENDED = 3;

interface Create {
  sessionId: string;
  command: string;
  args?: string[];
  cwd?: string | null;
  env?: { name: string; value: string }[];
  outputByteLimit?: number | null;
}

interface Named {
  sessionId: string;
  terminalId: string;
}

export class Terminals implements vscode.Disposable {
  private readonly running = new Map<string, Running>();
  private ended: vscode.Terminal[] = [];
  private made = 0;

  listen(client: LanguageClient, knows: (sessionId: string) => boolean): void {
    client.onRequest("terminal/create", (params: Create, token: vscode.CancellationToken) => {
      if (!knows(params.sessionId)) throw new Error("there is no such conversation here");
      return this.create(params, token, () => client.isRunning());
    });
    client.onRequest("terminal/output", (params: Named) => this.find(params).output());
    client.onRequest("terminal/wait_for_exit", (params: Named, token: vscode.CancellationToken) => this.find(params).wait(token));
    client.onRequest("terminal/kill", async (params: Named) => {
      await this.find(params).kill();
      return {};
    });
    client.onRequest("terminal/release", async (params: Named) => {
      await this.release(this.find(params), params.terminalId);
      return {};
    });
  }

  dispose(): void {
    for (const one of this.running.values()) one.terminal.dispose();
    this.running.clear();
  }

  /** The one that runs a command, or ran the last one. */
  show(): void {
    const terminal = [...this.running.values()].at(-1)?.terminal ?? this.ended.at(-1);
    if (terminal !== undefined) terminal.show();
    else void showInfo(vscode.l10n.t("North: no command has run in a terminal yet."));
  }

  /** Nothing runs for a server that has withdrawn its request, or has ended (`isAsked`) while the shell started. */
  private async create(params: Create, token: vscode.CancellationToken, isAsked: () => boolean): Promise<{ terminalId: string }> {
    const argv = [params.command, ...(params.args ?? [])];
    const limit = Math.min(params.outputByteLimit ?? DEFAULT_LIMIT, MOST_BYTES);
    const { shellPath, line, env: more } = terminalFor(argv, process.platform);
    const env = Object.fromEntries((params.env ?? []).map(({ name, value }) => [name, value]));
    const terminal = vscode.window.createTerminal({
      name: vscode.l10n.t("North: {0}", shortened((argv.at(-1) ?? "").replace(/\s+/g, " "), 30)),
      iconPath: new vscode.ThemeIcon("terminal-bash"),
      shellPath,
      ...(params.cwd ? { cwd: params.cwd } : {}),
      env: { ...env, ...more },
      isTransient: true,
    });
    terminal.show(true);
    try {
      const shell = await integrationOf(terminal, token);
      if (token.isCancellationRequested || !isAsked()) throw new vscode.CancellationError();
      const running = new Running(terminal, params.sessionId, new Output(limit));
      running.start(shell, line);
      this.made += 1;
      const terminalId = `terminal-${this.made}`;
      this.running.set(terminalId, running);
      return { terminalId };
    } catch (error) {
      terminal.dispose();
      throw error;
    }
  }

  private find({ sessionId, terminalId }: Named): Running {
    const found = this.running.get(terminalId);
    if (found === undefined || found.sessionId !== sessionId) throw new Error(`there is no terminal ${terminalId}`);
    return found;
  }

  /** It stays open, so that it can be read. */
  private async release(running: Running, id: string): Promise<void> {
    this.running.delete(id);
    await running.kill();
    running.dispose();
    this.ended = [...this.ended.filter((one) => one.exitStatus === undefined), running.terminal];
    const old = this.ended.slice(0, -MOST_ENDED).filter((one) => one !== vscode.window.activeTerminal);
    for (const one of old) one.dispose();
    this.ended = this.ended.filter((one) => !old.includes(one));
  }
}


/** A command in its terminal. */
class Running {
  private readonly exited: Promise<Exit>;
  private finish: (exit: Exit) => void = () => {};
  private exit: Exit | undefined;
  private reading: Promise<void> = Promise.resolve();
  private readonly listeners: vscode.Disposable[] = [];

  constructor(
    readonly terminal: vscode.Terminal,
    readonly sessionId: string,
    private readonly collected: Output,
  ) {
    this.exited = new Promise((resolve) => {
      this.finish = (exit) => {
        this.exit ??= exit;
        resolve(this.exit);
      };
    });
  }

  start(shell: vscode.TerminalShellIntegration, line: string): void {
    const execution = shell.executeCommand(line);
    this.reading = this.read(execution);
    this.listeners.push(
      vscode.window.onDidEndTerminalShellExecution(async (event) => {
        if (event.execution !== execution) return;
        await Promise.race([this.reading, after(LAST_OUTPUT_MS)]); // its last words may come a moment later
        this.finish(exitOf(event.exitCode));
      }),
      vscode.window.onDidCloseTerminal((closed) => {
        if (closed === this.terminal) this.finish(CLOSED);
      }),
    );
  }

  output(): { output: string; truncated: boolean; exitStatus?: Exit } {
    return { ...this.collected.get(), ...(this.exit === undefined ? {} : { exitStatus: this.exit }) };
  }

  wait(token: vscode.CancellationToken): Promise<Exit> {
    return new Promise((resolve, reject) => {
      const cancelled = token.onCancellationRequested(() => reject(new vscode.CancellationError()));
      void this.exited.then((exit) => {
        cancelled.dispose();
        resolve(exit);
      });
    });
  }

  /** As Ctrl+C does; what does not heed that goes with its terminal. */
  async kill(): Promise<void> {
    if (this.exit !== undefined) return;
    this.terminal.sendText("\x03", false);
    await Promise.race([this.exited, after(KILL_MS)]);
    if (this.exit === undefined) this.terminal.dispose();
  }

  dispose(): void {
    vscode.Disposable.from(...this.listeners).dispose();
  }

  private async read(execution: vscode.TerminalShellExecution): Promise<void> {
    for await (const text of execution.read()) this.collected.push(text);
  }
}

/** Throws when the shell does not tell about its commands in time, when nobody waits for it any more, and when it is closed. */
function integrationOf(terminal: vscode.Terminal, token: vscode.CancellationToken): Promise<vscode.TerminalShellIntegration> {
  return new Promise((resolve, reject) => {
    const done = (end: () => void): void => {
      clearTimeout(timer);
      vscode.Disposable.from(...listeners).dispose();
      end();
    };
    const listeners = [
      vscode.window.onDidChangeTerminalShellIntegration(({ terminal: changed, shellIntegration }) => {
        if (changed === terminal) done(() => resolve(shellIntegration));
      }),
      vscode.window.onDidCloseTerminal((closed) => {
        if (closed === terminal) done(() => reject(new Error("the user has closed the terminal before the command could run")));
      }),
      token.onCancellationRequested(() => done(() => reject(new vscode.CancellationError()))),
    ];
    const missing = "the terminal has no shell integration; VS Code's setting terminal.integrated.shellIntegration.enabled switches it on";
    const timer = setTimeout(() => done(() => reject(new Error(missing))), INTEGRATION_MS);
    const { shellIntegration } = terminal;
    if (shellIntegration !== undefined) done(() => resolve(shellIntegration));
  });
}

function after(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
