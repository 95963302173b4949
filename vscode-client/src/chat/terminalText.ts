/** Code of a shell as it is typed into a terminal. Pure. */

import { visible } from "../common/visible";

/** The commands of a transcript, which has them behind a prompt (`$ `); any other text as it is. Undefined where there is
 * nothing to type, or where what would be typed is not what is seen. */
export function commandsIn(code: string): string | undefined {
  const lines = code.split("\n").map((line) => line.trimEnd());
  const prompted = lines.flatMap((line) => /^\s*[$%] (.+)$/.exec(line)?.[1] ?? []);
  const text = (prompted.length > 0 ? prompted : lines).join("\n").trim();
  return text === "" || visible(text) !== text || (text.includes("\t") && !text.includes("\n")) ? undefined : text;
}
