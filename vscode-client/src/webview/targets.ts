/** Where the links of an answer lead: to a web page, or to a place in a file, which the extension looks for. Pure. */

import { visible } from "../common/visible";

export type Target = { address: string } | { path: string; line?: number };

/** Undefined for everything that is neither: other schemes, anchors, nothing. */
export function targetOf(address: string): Target | undefined {
  if (/^https?:\/\/[^/]/i.test(address)) return { address };
  const local = /^file:\/\/(\/.*)$/i.exec(address)?.[1] ?? address;
  // A drive's letter looks like a scheme.
  const hasScheme = /^[a-z][a-z0-9+-]+:|^[a-z][a-z0-9+.-]+:(?!\d)/i.test(local);
  return hasScheme || local.startsWith("//") ? undefined : place(decoded(local));
}

/** A path with a line, or with a folder and an ending, is a place when it stands alone in code. */
export function targetOfCode(text: string): Target | undefined {
  const parts = /^((?:\.{0,2}\/)?(?:[\w.@+-]+\/)*[\w.@+-]+\.[a-z]\w{0,9})(:\d+|#L\d+)?/i.exec(text);
  if (parts === null || !/^(?::\d+|-L?\d+)*$/.test(text.slice(parts[0].length))) return undefined;
  const [, path = "", line] = parts;
  if (line === undefined && !path.includes("/")) return undefined;
  return place(text);
}

/** What may be the name of a symbol when it stands alone in code: `greet`, `greet()`, `Greeter.greet`. */
export function symbolOf(text: string): string | undefined {
  const name = text.replace(/\(\)$/, "");
  return name.length >= 3 && name.length <= 100 && /^[\p{L}_$][\p{L}\p{N}_$]*(?:(?:\.|::|#)[\p{L}_$][\p{L}\p{N}_$]*)*$/u.test(name) ? name : undefined;
}

function place(text: string): Target | undefined {
  const [, path = "", hash, colon] = /^(.*?)(?:#L(\d+).*|:(\d+)(?:[:-]\d+)*|#.*)?$/s.exec(text) ?? [];
  // A path that cannot be read as it is leads nowhere.
  if (path === "" || visible(path) !== path || path.includes("\n")) return undefined;
  const line = Number(hash ?? colon ?? 0);
  return line > 0 ? { path, line } : { path };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a lone %
  }
}
