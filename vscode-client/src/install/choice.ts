/** Which server is started: what the settings say, and what there is. Nothing of the workspace runs unless the user's own setting names it. */

import * as path from "node:path";

import { isInside } from "../common/paths";

/** `included`: the one that is bundled with the extension. */
export type Source = "included" | "path" | "workspace";

export interface ServerSettings {
  /** The setting with everything filled in; empty for none. */
  path: string;
  source: Source;
}

export interface Facts {
  platform: NodeJS.Platform;
  /** The workspace's folders on disk. */
  folders: string[];
  pathVariable: string;
  hasWheel: boolean;
  isProgram(file: string): Promise<boolean>;
  /** A path with its links resolved; as it is where that cannot be done. */
  real(file: string): Promise<string>;
}

export type Choice =
  | { kind: "start"; program: string }
  | { kind: "install" }
  | { kind: "noProgram"; path: string }
  | { kind: "notOnPath"; inFolder: string | undefined }
  | { kind: "notInWorkspace"; places: string[] };

export async function chooseServer(wanted: ServerSettings, facts: Facts): Promise<Choice> {
  if (wanted.path !== "") {
    return (await facts.isProgram(wanted.path)) ? { kind: "start", program: wanted.path } : { kind: "noProgram", path: wanted.path };
  }
  if (wanted.source === "workspace") return inWorkspace(facts);
  if (wanted.source === "included" && facts.hasWheel) return { kind: "install" };
  return onPath(facts);
}

export function programName(platform: NodeJS.Platform): string {
  return platform === "win32" ? "north-lsp.exe" : "north-lsp";
}

async function onPath(facts: Facts): Promise<Choice> {
  const foreign = await foldersOf(facts);
  for (const place of facts.pathVariable.split(path.delimiter).filter((folder) => path.isAbsolute(folder))) {
    const program = path.join(place, programName(facts.platform));
    if (!(await facts.isProgram(program))) continue;
    if (!isInside(program, foreign) && !isInside(await facts.real(program), foreign)) return { kind: "start", program };
  }
  return { kind: "notOnPath", inFolder: await firstIn(facts) };
}

async function inWorkspace(facts: Facts): Promise<Choice> {
  const program = await firstIn(facts);
  return program === undefined ? { kind: "notInWorkspace", places: placesIn(facts) } : { kind: "start", program };
}

async function firstIn(facts: Facts): Promise<string | undefined> {
  for (const place of placesIn(facts)) if (await facts.isProgram(place)) return place;
  return undefined;
}

function placesIn({ folders, platform }: Facts): string[] {
  const scripts = platform === "win32" ? "Scripts" : "bin";
  return folders.flatMap((folder) => [".venv", "venv"].map((name) => path.join(folder, name, scripts, programName(platform))));
}

async function foldersOf({ folders, real }: Facts): Promise<string[]> {
  return [...folders, ...(await Promise.all(folders.map(real)))];
}
