/** With what an environment can be made: uv, or a Python that is new enough and has venv and pip. */

import * as path from "node:path";

export interface RunResult {
  code: number | null;
  output: string;
}

export type Run = (program: string, args: string[]) => Promise<RunResult>;

export type Tool = { kind: "uv"; program: string } | { kind: "python"; program: string; version: string };

/** Why there is no tool. `missing`: nothing was found at all. */
export type NoTool =
  | { kind: "missing" }
  | { kind: "tooOld"; program: string; version: string }
  | { kind: "noVenv"; program: string; version: string }
  | { kind: "noPython"; program: string };

export const OLDEST = [3, 11] as const;

export interface Places {
  uv: string[];
  python: string[];
}

/** Where to look, the best first. `isForeign`: a folder that belongs to the workspace, from which nothing is run. */
export function placesOf(environment: NodeJS.ProcessEnv, home: string, platform: NodeJS.Platform, isForeign: (folder: string) => boolean): Places {
  const { delimiter, isAbsolute, join } = platform === "win32" ? path.win32 : path.posix;
  const end = platform === "win32" ? ".exe" : "";
  const onPath = (environment.PATH ?? "").split(delimiter).filter((folder) => isAbsolute(folder));
  const ofWindows = [13, 14, 12, 11].map((minor) => join(home, "AppData", "Local", "Programs", "Python", `Python3${minor}`));
  const usual = platform === "win32" ? [join(home, ".local", "bin"), ...ofWindows] : [join(home, ".local/bin"), join(home, ".cargo/bin"), "/opt/homebrew/bin", "/usr/local/bin", "/usr/bin"];
  const folders = [...new Set([...onPath, ...usual])].filter((folder) => !isForeign(folder));
  const inFolders = (name: string) => folders.map((folder) => join(folder, `${name}${end}`));
  const names = ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python"];
  return { uv: inFolders("uv"), python: names.flatMap(inFolders) };
}

const ASK = `import json, sys
found = {"version": list(sys.version_info[:3])}
try:
    import ensurepip, venv
    found["venv"] = True
except ImportError:
    found["venv"] = False
print(json.dumps(found))`;

interface Python {
  version: string;
  isNew: boolean;
  hasVenv: boolean;
}

/** What a Python says of itself; undefined for what is none. */
async function askPython(program: string, run: Run): Promise<Python | undefined> {
  const { code, output } = await run(program, ["-I", "-c", ASK]);
  if (code !== 0) return undefined;
  try {
    const said = Object(JSON.parse(output.trim().split("\n").at(-1) ?? "")) as Record<string, unknown>;
    if (!Array.isArray(said.version)) return undefined;
    const [major = 0, minor = 0] = said.version.map(Number);
    const isNew = major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
    return { version: said.version.join("."), isNew, hasVenv: said.venv === true };
  } catch {
    return undefined;
  }
}

/** The tools that there are, the best first: if one fails for its own reasons, the next one may do. */
export async function findTools(chosen: string, places: Places, isProgram: (file: string) => Promise<boolean>, run: Run): Promise<Tool[] | NoTool> {
  if (chosen !== "") return chosenPython(chosen, isProgram, run);
  const tools: Tool[] = [];
  for (const program of places.uv) {
    if (!(await isProgram(program)) || (await run(program, ["--version"])).code !== 0) continue;
    tools.push({ kind: "uv", program });
    break;
  }
  let closest: NoTool = { kind: "missing" };
  for (const program of places.python) {
    if (!(await isProgram(program))) continue;
    const python = await askPython(program, run);
    if (python === undefined) continue;
    const { version } = python;
    if (python.isNew && python.hasVenv) return [...tools, { kind: "python", program, version }];
    if (python.isNew && closest.kind !== "noVenv") closest = { kind: "noVenv", program, version };
    else if (closest.kind === "missing") closest = { kind: "tooOld", program, version };
  }
  return tools.length > 0 ? tools : closest;
}

async function chosenPython(program: string, isProgram: (file: string) => Promise<boolean>, run: Run): Promise<Tool[] | NoTool> {
  const python = (await isProgram(program)) ? await askPython(program, run) : undefined;
  if (python === undefined) return { kind: "noPython", program };
  const { version } = python;
  if (!python.isNew) return { kind: "tooOld", program, version };
  return python.hasVenv ? [{ kind: "python", program, version }] : { kind: "noVenv", program, version };
}
