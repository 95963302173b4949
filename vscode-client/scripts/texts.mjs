/** The texts of the source that are translated. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** Every literal that is the first argument of `l10n.t` (in the page: `t`), and the places of calls without one. */
export function texts(source) {
  const found = new Set();
  const others = [];
  for (const name of readdirSync(source, { recursive: true }).sort()) {
    if (!name.endsWith(".ts")) continue;
    const code = readFileSync(join(source, name), "utf8");
    const calls = name.startsWith("webview") ? /(?<![\w.])t\(\s*/g : /\bl10n\.t\(\s*/g;
    for (const call of code.matchAll(calls)) {
      const line = code.slice(code.lastIndexOf("\n", call.index) + 1, call.index);
      if (/^\s*(?:\/?\*|\/\/)|function\s*$/.test(line)) continue;
      const literal = /^(?:"(?:[^"\\\n]|\\.)*"|`(?:[^`\\$]|\\.)*`)/.exec(code.slice(call.index + call[0].length))?.[0];
      if (literal === undefined) others.push(`${name}: ${code.slice(call.index, call.index + 60)}`);
      else found.add(JSON.parse(literal.startsWith("`") ? JSON.stringify(literal.slice(1, -1)) : literal));
    }
  }
  return { texts: [...found].sort(), others };
}
