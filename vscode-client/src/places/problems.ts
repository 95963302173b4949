/** Problems that the editor shows, in words for the model. Without the editor's API, so that they can be tested. */

export interface Problem {
  /** From 0. */
  line: number;
  character: number;
  severity: Severity;
  message: string;
  source?: string;
  code?: string;
}

export type Severity = "error" | "warning" | "info" | "hint";

const SEVERITIES: readonly Severity[] = ["error", "warning", "info", "hint"];
const MOST_PROBLEMS = 20;
const MOST_CHARACTERS = 1_000;

/** The editor counts severities from the worst. */
export function severityOf(number: number): Severity {
  return SEVERITIES[number] ?? "hint";
}

/** The number or the name of a rule, whatever shape the editor has it in. */
export function codeOf(code: string | number | { value: string | number } | undefined): string | undefined {
  const value = typeof code === "object" ? code.value : code;
  return value === undefined || value === "" ? undefined : String(value);
}

/** On one line: where, how bad, what, and who says so. */
export function problemText({ line, character, severity, message, source, code }: Problem): string {
  const by = [source, code].filter((part) => part !== undefined && part !== "").join(" ");
  const said = shortened(message.replace(/\s*\n\s*/g, " ").trim(), MOST_CHARACTERS);
  return `line ${line + 1}, column ${character + 1}: ${severity}: ${said}${by === "" ? "" : ` (${by})`}`;
}

/** What North is asked to mend, the worst first. */
export function fixText(path: string, problems: readonly Problem[]): string {
  const sorted = [...problems].sort(
    (a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) || a.line - b.line || a.character - b.character,
  );
  const lines = sorted.slice(0, MOST_PROBLEMS).map((problem) => `- ${problemText(problem)}`);
  if (sorted.length > MOST_PROBLEMS) lines.push(`- and ${sorted.length - MOST_PROBLEMS} more`);
  const what = sorted.length === 1 ? "this problem" : "these problems";
  return `Fix ${what} in ${path}:\n\n${lines.join("\n")}`;
}

/** A name for a menu. */
export function shortened(text: string, most: number): string {
  const characters = [...text];
  return characters.length > most ? `${characters.slice(0, most - 1).join("")}…` : text;
}
