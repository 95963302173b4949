/** Text of others, safe to show: characters that are invisible, or that would change the direction of reading, become
 * visible marks, as the server makes them. Pure. */

const EMOJI = "[\\u2190-\\u2bff\\u3030\\u303d\\u3297\\u3299\\u{1f000}-\\u{1faff}\\ufe0f]";
const HIDDEN = new RegExp(
  // Within an emoji, the variation selectors and the joiner are part of the character.
  `(?<=${EMOJI})\\u200d(?=${EMOJI})|(?<=${EMOJI})[\\ufe0e\\ufe0f]|(?<hidden>` +
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f" +
    "\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff9-\\ufffb\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}\\p{Cs}])",
  "gu",
);

/** Line feeds and tabs stay; every other invisible character becomes `<U+XXXX>`. */
export function visible(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(HIDDEN, (whole, hidden: string | undefined) =>
    hidden === undefined ? whole : `<U+${(hidden.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}>`,
  );
}
