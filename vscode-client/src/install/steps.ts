/** Installing the server's wheel into an environment of its own: the steps, and why one of them failed. */

import { mkdir, rm } from "node:fs/promises";
import * as path from "node:path";

import { type Home, markInstalled } from "./home";
import { OLDEST, type Run, type Tool } from "./tools";
import type { Wheel } from "./wheel";

export type Step = "environment" | "packages" | "check";

export type Cause = "certificate" | "package" | "build" | "network" | "disk" | "permission" | "venv" | "other";

export class StepFailed extends Error {
  constructor(
    readonly step: Step,
    readonly why: Cause,
    /** The line of the output that says it; `package`: the package's name. */
    readonly detail: string,
  ) {
    super(`${step}: ${detail}`);
  }
}

/** Makes the environment anew. Throws StepFailed; what is half done has no mark and is made again. */
export async function installWheel(wheel: Wheel, home: Home, tool: Tool, run: Run, begin: (step: Step) => void): Promise<void> {
  const must = async (step: Step, program: string, args: string[]): Promise<void> => {
    const { code, output } = await run(program, args);
    if (code === 0) return;
    const [cause, detail] = causeOf(output);
    throw new StepFailed(step, cause, detail);
  };
  begin("environment");
  await rm(home.folder, { recursive: true, force: true });
  await mkdir(path.dirname(home.folder), { recursive: true, mode: 0o700 });
  if (tool.kind === "uv") {
    await must("environment", tool.program, ["venv", "--no-project", "--python", `>=${OLDEST.join(".")}`, home.folder]);
    begin("packages");
    await must("packages", tool.program, ["pip", "install", "--python", home.python, wheel.file]);
  } else {
    await must("environment", tool.program, ["-I", "-m", "venv", home.folder]);
    begin("packages");
    const options = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"];
    await must("packages", home.python, ["-I", "-m", "pip", "install", ...options, wheel.file]);
  }
  begin("check");
  await must("check", home.program, ["--version"]);
  await markInstalled(home, wheel);
}

const CAUSES: [Cause, RegExp][] = [
  ["disk", /No space left on device|ENOSPC|Disk quota exceeded/i],
  ["venv", /ensurepip is not available|No module named '?(venv|ensurepip|pip)\b/i],
  ["certificate", /CERTIFICATE_VERIFY_FAILED|certificate verify failed|invalid peer certificate|self.signed certificate|UnknownIssuer/i],
  ["network", /NewConnectionError|Name or service not known|Temporary failure in name resolution|nodename nor servname|Connection refused|Connection reset|Network is unreachable|timed? ?out|ProxyError|Tunnel connection failed|dns error|error sending request|Failed to fetch|Could not connect/i],
  ["build", /Failed (?:to build|building wheel)|metadata-generation-failed|Failed to build `|command '[^']*(?:gcc|cc|clang)' failed/i],
  ["package", /No matching distribution found for|No solution found|was not found in the package registry|Could not find a version/i],
  ["permission", /Permission denied|EACCES|Read-only file system/i],
];

/** What the output of pip, uv or venv says about a failure, and the line that says it. */
export function causeOf(output: string): [Cause, string] {
  const lines = output.split(/\r?\n/).map((line) => line.trim()).filter((line) => line !== "");
  for (const [cause, pattern] of CAUSES) {
    const line = lines.find((one) => pattern.test(one));
    if (line !== undefined) return [cause, cause === "package" || cause === "build" ? nameIn(line) : inPlainWords(line)];
  }
  const error = lines.filter((line) => /^(?:error|ERROR|×|fatal)/.test(line)).at(-1);
  return ["other", error ?? lines.at(-1) ?? ""];
}

/** What pip says before another attempt, without the objects of Python around it. */
function inPlainWords(line: string): string {
  const words = /connection broken by .*(?:<[^<>]*>: |Error\(['"])(.+?)['"]?\)+'?: \S+$/.exec(line);
  return words?.[1] ?? line;
}

/** The package that a line of pip or uv is about, else the line. */
function nameIn(line: string): string {
  const found = /(?:found for|satisfies the requirement|building wheel for|because|build) `?([A-Za-z0-9][\w.-]*)/i.exec(line);
  return found?.[1] ?? line;
}
