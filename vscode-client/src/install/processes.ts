/** Running the programs that install: never in the workspace, stopped as a whole, with their output told line by line. */

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

import type { RunResult, Run } from "./tools";

/** So much of an output is kept to say why something failed. */
const KEPT = 100_000;

/** Variables that would lead pip or Python out of the environment that is made. */
const MISLEADING = ["PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_DRY_RUN", "PIP_REQUIRE_VIRTUALENV"];

export function environmentFor(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(environment).filter(([name]) => !MISLEADING.includes(name));
  return { ...Object.fromEntries(kept), PIP_USER: "0", PYTHONNOUSERSITE: "1", PYTHONUTF8: "1" };
}

/** `folder` is where they run: pip, uv and Python read settings that lie there. */
export function runnerIn(folder: string, signal: AbortSignal, tell: (line: string) => void): Run {
  return (program, args) =>
    new Promise<RunResult>((resolve, reject) => {
      if (signal.aborted) return reject(aborted());
      const grouped = process.platform !== "win32";
      const child = spawn(program, args, { cwd: folder, env: environmentFor(process.env), detached: grouped, stdio: ["ignore", "pipe", "pipe"] });
      let output = "";
      for (const stream of [child.stdout, child.stderr]) {
        createInterface({ input: stream }).on("line", (line) => {
          output = `${output}${line}\n`.slice(-KEPT);
          tell(line);
        });
      }
      const stop = () => {
        try {
          if (grouped && child.pid !== undefined) process.kill(-child.pid, "SIGTERM");
          else child.kill();
        } catch {
          // it has just ended
        }
      };
      signal.addEventListener("abort", stop);
      child.once("error", (error) => {
        signal.removeEventListener("abort", stop);
        resolve({ code: null, output: error.message });
      });
      child.once("close", (code) => {
        signal.removeEventListener("abort", stop);
        if (signal.aborted) reject(aborted());
        else resolve({ code, output });
      });
    });
}

/** A signal that ends with another one or after a time. */
export function withTimeout(milliseconds: number, signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(milliseconds)]);
}

export class Aborted extends Error {}

function aborted(): Aborted {
  return new Aborted("cancelled");
}
