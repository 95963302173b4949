/** The server's wheel, which the extension carries. */

import { readFile } from "node:fs/promises";
import * as path from "node:path";

export interface Wheel {
  file: string;
  version: string;
  /** Of its contents: it tells what has to be installed again, also where the version is the same. */
  sha256: string;
}

/** Undefined where the extension was made without one. */
export async function includedWheel(extension: string): Promise<Wheel | undefined> {
  const folder = path.join(extension, "server");
  try {
    return read(folder, JSON.parse(await readFile(path.join(folder, "server.json"), "utf8")));
  } catch {
    return undefined;
  }
}

function read(folder: string, about: unknown): Wheel | undefined {
  const { wheel, version, sha256 } = Object(about) as Record<string, unknown>;
  if (typeof wheel !== "string" || typeof version !== "string" || typeof sha256 !== "string") return undefined;
  if (path.basename(wheel) !== wheel || !/^[\w.+!-]+$/.test(version) || !/^[0-9a-f]{64}$/.test(sha256)) return undefined;
  return { file: path.join(folder, wheel), version, sha256 };
}
