/** Whether a path lies in one of some folders: by its parts, not by how it begins. Pure. */

import { isAbsolute, relative, sep } from "node:path";

export function isInside(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => {
    const rest = relative(folder, path);
    return rest !== ".." && !rest.startsWith(`..${sep}`) && !isAbsolute(rest);
  });
}
