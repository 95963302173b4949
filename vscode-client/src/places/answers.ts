/** What VS Code's language features answer, in the shapes that the server asks for: positions count from 0 in UTF-16, as in
 * LSP. Without the editor's API, so that it can be tested. */

import { createHash } from "node:crypto";

export interface Position {
  line: number;
  character: number;
}

export interface Range {
  start: Position;
  end: Position;
}

interface Address {
  toString(): string;
}

export interface Place {
  uri: string;
  range: Range;
}

export interface Symbol {
  name: string;
  kind: string;
  container?: string;
  uri: string;
  range: Range;
}

export const MOST_PLACES = 300;
export const MOST_SYMBOLS = 1_000;
const MOST_CHARACTERS = 16_000;

const KINDS =
  "file module namespace package class method property field constructor enum interface function variable constant string number boolean array object key null enumMember struct event operator typeParameter".split(
    " ",
  );

/** The editor's ranges have more than the two positions. */
export function rangeOf({ start, end }: Range): Range {
  return { start: { line: start.line, character: start.character }, end: { line: end.line, character: end.character } };
}

type Found = { uri: Address; range: Range } | { targetUri: Address; targetRange: Range; targetSelectionRange?: Range | undefined };

/** Locations and links to them, each place once. */
export function placesOf(found: readonly Found[]): Place[] {
  const places = new Map<string, Place>();
  for (const one of found) {
    const uri = ("targetUri" in one ? one.targetUri : one.uri).toString();
    const range = rangeOf("targetUri" in one ? (one.targetSelectionRange ?? one.targetRange) : one.range);
    places.set(`${uri}:${range.start.line}:${range.start.character}`, { uri, range });
  }
  return [...places.values()].slice(0, MOST_PLACES);
}

interface Nested {
  name: string;
  kind: number;
  range: Range;
  children: Nested[];
}

interface Flat {
  name: string;
  kind: number;
  containerName: string;
  location: { uri: Address; range: Range };
}

/** As a list, whether the editor has them as a tree or not; a nested one names what it is in. */
export function symbolsOf(symbols: readonly (Nested | Flat)[], document: Address): Symbol[] {
  const list: Symbol[] = [];
  const add = (one: Nested | Flat, container: string): void => {
    if (list.length === MOST_SYMBOLS) return;
    const kind = KINDS[one.kind] ?? "symbol";
    const inside = container === "" ? {} : { container };
    // VS Code gives document symbols that are both; the tree tells more.
    if ("children" in one) {
      list.push({ name: one.name, kind, ...inside, uri: document.toString(), range: rangeOf(one.range) });
      for (const child of one.children) add(child, container === "" ? one.name : `${container}.${one.name}`);
    } else {
      const named = one.containerName === "" ? inside : { container: one.containerName };
      list.push({ name: one.name, kind, ...named, uri: one.location.uri.toString(), range: rangeOf(one.location.range) });
    }
  };
  for (const one of symbols) add(one, "");
  return list;
}

/** The SHA-256 of a text whose lines all end with a line feed: two programs may hold other line ends. */
export function digestOf(text: string): string {
  return createHash("sha256").update(text.replace(/\r\n?/g, "\n")).digest("hex");
}

interface Edit {
  range: Range;
  newText: string;
}

export function editsOf(edits: readonly Edit[]): Edit[] {
  return edits.map(({ range, newText }) => ({ range: rangeOf(range), newText }));
}

type Marked = string | { value: string; language?: string };

/** What a hover says, as Markdown. */
export function hoverText(hovers: readonly { contents: readonly Marked[] }[]): string {
  const parts = hovers.flatMap(({ contents }) =>
    contents.map((content) => {
      if (typeof content === "string") return content;
      return content.language === undefined ? content.value : `\`\`\`${content.language}\n${content.value}\n\`\`\``;
    }),
  );
  return parts.filter((part) => part.trim() !== "").join("\n\n").slice(0, MOST_CHARACTERS);
}

interface Signature {
  label: string;
  documentation?: string | { value: string } | undefined;
}

export function signatureText(signatures: readonly Signature[], active: number): string {
  const lines = signatures.map(({ label, documentation }, index) => {
    const words = typeof documentation === "object" ? documentation.value : (documentation ?? "");
    return `${index === active && signatures.length > 1 ? "→ " : ""}${label}${words === "" ? "" : `\n${words}`}`;
  });
  return lines.join("\n\n").slice(0, MOST_CHARACTERS);
}
