/** What a terminal shows, as text within bounds; and how a program and its arguments are written for a shell. Without the
 * editor's API. */

const ESCAPES: Readonly<Record<string, string>> = { "\n": "\\n", "\t": "\\t", "\\": "\\\\", "'": "\\'" };

// Commands to the terminal (titles, colors, cursor), and the start of one that has not arrived whole.
const OPERATING_SYSTEM = /\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)/g;
const CONTROL_SEQUENCE = /\x1b\[[0-?]*[ -/]*(?:[@-~]|$)/g;
const ESCAPE = /\x1b(?:[ -/]*[0-~]|$)/g;
const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f]/g;

/** The text that is left on the screen. */
export function plainOf(written: string): string {
  const text = written.replace(OPERATING_SYSTEM, "").replace(CONTROL_SEQUENCE, "").replace(ESCAPE, "");
  return text.replace(/\r+\n/g, "\n").split("\n").map(overwritten).join("\n");
}

/** A line after what carriage returns and backspaces wrote over. */
function overwritten(line: string): string {
  let shown = "";
  for (const part of line.split("\r")) {
    let now = part;
    while (/[^\b]\x08/.test(now)) now = now.replace(/[^\b]\x08/, "");
    now = now.replace(CONTROL, "");
    shown = now + shown.slice(now.length);
  }
  return shown;
}

/** The end of what was written, at most so many bytes of it. */
export class Output {
  private written = "";
  private dropped = false;

  constructor(private readonly limit: number) {}

  push(text: string): void {
    this.written += text;
    // Colors and the like are not counted: there is room for as much again, and more.
    const most = this.limit * 4;
    if (this.written.length > most * 2) {
      this.written = this.written.slice(-most);
      this.dropped = true;
    }
  }

  get(): { output: string; truncated: boolean } {
    const all = Buffer.from(plainOf(this.written), "utf8");
    if (all.length <= this.limit) return { output: all.toString("utf8"), truncated: this.dropped };
    let start = all.length - this.limit;
    while (start < all.length && ((all[start] ?? 0) & 0xc0) === 0x80) start += 1; // not within a character
    return { output: all.subarray(start).toString("utf8"), truncated: true };
  }
}

export interface Exit {
  exitCode: number | null;
  signal: string | null;
}

/** How a command ended. A shell that was asked nothing, or interrupted before it ran anything, does not tell a code. */
export function exitOf(code: number | undefined): Exit {
  return { exitCode: code ?? null, signal: null };
}

/** Its terminal is gone, and the command with it. */
export const CLOSED: Exit = { exitCode: null, signal: "SIGHUP" };

/** A line that shows of a command what the user knows: its last argument, which is what a shell is given to run. What
 * stands before it is in a variable of the terminal's, which `env` brings along, as far as it is plain words. */
export function readableLine(argv: readonly string[]): { line: string; env: Record<string, string> } {
  const before = argv.slice(0, -1);
  const last = argv.at(-1);
  if (last === undefined || before[0] !== "env" || !before.every((word) => /^[\w./+-]+$/.test(word))) return { line: commandLine(argv), env: {} };
  // The command itself does not get the variable.
  const words = ["env", "-u", VARIABLE, ...before.slice(1)];
  return { line: `$${VARIABLE} ${quoted(last)}`, env: { [VARIABLE]: words.join(" ") } };
}

const VARIABLE = "north_run";

/** A terminal's shell, and what is typed there for a program and its arguments. On Windows North's commands are for the
 * shell that they name, and are typed into that one as they are; elsewhere they are quoted for bash. */
export function terminalFor(argv: readonly string[], platform: NodeJS.Platform): { shellPath: string; line: string; env: Record<string, string> } {
  const [shell, command] = [argv[0], argv.at(-1)];
  if (platform === "win32" && shell !== undefined && command !== undefined) return { shellPath: shell, line: command, env: {} };
  // Its quoting is known, and shell integration works with it.
  return { shellPath: "bash", ...readableLine(argv) };
}

/** One line for bash that runs exactly this, whatever stands in it: nothing of it is expanded, completed or an alias. */
export function commandLine(argv: readonly string[]): string {
  return argv.map(quoted).join(" ");
}

function quoted(word: string): string {
  // An exclamation mark between quotes that begin again would be history's.
  if (/^[\x20-\x7e]*$/.test(word) && !/'.*!/.test(word)) return `'${word.replaceAll("'", "'\\''")}'`;
  const escaped = word.replace(/[\\'!\x00-\x1f\x7f]/g, (one) => ESCAPES[one] ?? `\\x${one.charCodeAt(0).toString(16).padStart(2, "0")}`);
  // Hexadecimal digits behind an escape would not belong to it: bash reads two at most.
  return `$'${escaped}'`;
}
