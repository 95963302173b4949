/** Completion in the input, without a page: what is being completed, what is offered, and what becomes of the text. */

import { COMPLETED_COMMANDS, type FoundName, type FoundPath, type FoundSymbol, type FoundValue, type SlashCommand, type SourceName } from "../messages";

/** What is being written at the cursor: `/…` at the beginning, `@…` behind a blank, or a word behind a command. */
export interface Token {
  kind: "command" | "mention" | "value";
  start: number;
  end: number;
  query: string;
  /** Of a value: its command, and the words between them. */
  command?: string;
  before?: string[];
}

export type Offer =
  | { kind: "command"; name: string; detail: string }
  | { kind: "value"; name: string; detail: string }
  | { kind: "source"; name: SourceName; detail: string }
  | { kind: "file" | "folder"; name: string; detail: string }
  | { kind: "name"; name: string; detail: string }
  | { kind: "symbol"; name: string; detail: string; id: string };

export interface Source {
  name: SourceName;
  detail: string;
}

export interface Completed {
  text: string;
  caret: number;
  offer: Offer;
}

const MOST_COMMANDS = 12;
const MOST_VALUES = 50;
const COMPLETED: readonly string[] = COMPLETED_COMMANDS;

export function tokenAt(text: string, caret: number): Token | undefined {
  const before = text.slice(0, caret);
  const after = text.slice(caret);
  const command = /^\s*\/([^\s/]*)$/.exec(before);
  if (command !== null) {
    const query = command[1] ?? "";
    const end = caret + (/^[^\s/]*/.exec(after)?.[0].length ?? 0);
    return { kind: "command", start: caret - query.length - 1, end, query };
  }
  const value = /^\s*\/(\w+)[ \t]+((?:\S+[ \t]+)*)(\S*)$/.exec(before);
  if (value !== null && COMPLETED.includes(value[1] ?? "")) {
    const query = value[3] ?? "";
    const end = caret + (/^\S*/.exec(after)?.[0].length ?? 0);
    return { kind: "value", start: caret - query.length, end, query, command: value[1] ?? "", before: (value[2] ?? "").split(/\s+/).filter((word) => word !== "") };
  }
  const mention = /(?:^|[\s(])@("[^"\n]*|[^\s"]*)$/.exec(before);
  if (mention === null) return undefined;
  const written = mention[1] ?? "";
  const quoted = written.startsWith('"');
  const rest = (quoted ? /^[^"\n]*"?/ : /^[^\s"]*/).exec(after)?.[0] ?? "";
  // A quotation that is not closed yet does not reach over what stands behind it.
  const end = caret + (quoted && !rest.endsWith('"') ? 0 : rest.length);
  return { kind: "mention", start: caret - written.length - 1, end, query: quoted ? written.slice(1) : written };
}

/** The best first: the name itself, its beginning, the beginning of a part, a part, letters in order, the description. */
export function rankCommands(commands: readonly SlashCommand[], query: string): SlashCommand[] {
  const wanted = query.toLowerCase();
  return ranked(commands, wanted).slice(0, wanted === "" ? undefined : MOST_COMMANDS);
}

function ranked<One extends { name: string; description: string }>(all: readonly One[], wanted: string): One[] {
  return all
    .map((one, place) => ({ one, place, score: score(one, wanted) }))
    .filter(({ score }) => score < NO_MATCH)
    .sort((one, other) => one.score - other.score || one.place - other.place)
    .map(({ one }) => one);
}

const NO_MATCH = 9;

function score({ name, description }: { name: string; description: string }, wanted: string): number {
  const known = name.toLowerCase();
  if (wanted === "" || known === wanted) return 0;
  if (known.startsWith(wanted)) return 1;
  if (known.split(/[-_:.]/).some((part) => part.startsWith(wanted))) return 2;
  if (known.includes(wanted)) return 3;
  if (inOrder(wanted, known)) return 4;
  return description.toLowerCase().split(/\W+/).some((word) => word.startsWith(wanted)) ? 5 : NO_MATCH;
}

function inOrder(letters: string, text: string): boolean {
  let at = -1;
  return [...letters].every((letter) => (at = text.indexOf(letter, at + 1)) >= 0);
}

export class Completion {
  token: Token | undefined;
  offers: Offer[] = [];
  active = 0;
  /** Counts the questions to the extension; answers to older ones are left alone. */
  request = 0;
  private asked: string | undefined;
  /** What can stand where the token begins. */
  private values: readonly FoundValue[] = [];
  /** Where a token begins that the user does not want completed. */
  private dismissed: number | undefined;

  get isOpen(): boolean {
    return this.token !== undefined && this.offers.length > 0;
  }

  get current(): Offer | undefined {
    return this.isOpen ? this.offers[this.active] : undefined;
  }

  /** Nothing is left to complete: the command is written out. */
  get isComplete(): boolean {
    return (this.token?.kind === "command" || this.token?.kind === "value") && this.current?.name === this.token.query;
  }

  /** The text or the cursor has changed. Returns the letters to ask the extension for, if there are new ones. */
  update(text: string, caret: number, commands: readonly SlashCommand[], sources: readonly Source[]): string | undefined {
    const token = tokenAt(text, caret);
    if (token === undefined || token.start !== this.dismissed) this.dismissed = undefined;
    if (token === undefined || this.dismissed !== undefined) {
      this.close();
      return undefined;
    }
    const isNew = this.token?.kind !== token.kind || this.token.start !== token.start;
    const isChanged = isNew || this.token?.query !== token.query;
    this.token = token;
    if (!isChanged) return undefined;
    this.active = 0;
    if (token.kind === "command") {
      const found = rankCommands(commands, token.query);
      this.offers = found.map(({ name, description, hint }) => ({ kind: "command", name, detail: hint === "" ? description : `${description} · ${hint}` }));
      return undefined;
    }
    if (token.kind === "value") {
      this.offerValues(isNew ? [] : this.values);
      if (!isNew) return undefined;
      this.request += 1;
      return token.query;
    }
    const wanted = token.query.toLowerCase();
    const named = sources.filter(({ name }) => name.startsWith(wanted)).map(({ name, detail }): Offer => ({ kind: "source", name, detail }));
    const kept = isNew ? [] : this.offers.filter(({ kind, name }) => isPath(kind) && inOrder(wanted, name.toLowerCase()));
    this.offers = [...named, ...kept];
    this.asked = token.query;
    this.request += 1;
    return token.query;
  }

  /** What can be written here. Returns whether that is still wanted. */
  valuesArrived(request: number, values: readonly FoundValue[]): boolean {
    if (request !== this.request || this.token?.kind !== "value") return false;
    this.offerValues(values);
    return true;
  }

  private offerValues(values: readonly FoundValue[]): void {
    this.values = values;
    const rows = values.map(({ value, detail }) => ({ name: value, description: detail }));
    const found = ranked(rows, this.token?.query.toLowerCase() ?? "").slice(0, MOST_VALUES);
    this.offers = found.map(({ name, description }) => ({ kind: "value", name, detail: description }));
    // What is written may be meant as it is (/config searches words, too): Enter takes a value only if it was gone to.
    this.active = -1;
  }

  /** What the extension has found. Returns whether that is still wanted. */
  arrived(request: number, paths: readonly FoundPath[], symbols: readonly FoundSymbol[] = [], names: readonly FoundName[] = []): boolean {
    if (request !== this.request || this.token?.kind !== "mention" || this.token.query !== this.asked) return false;
    const chosen = this.current;
    const own = new Set(this.offers.filter(({ kind }) => kind === "source").map(({ name }) => name));
    const known = names.filter(({ name }) => !own.has(name)).map(({ name, detail }): Offer => ({ kind: "name", name, detail }));
    const named = symbols.map(({ id, name, place }): Offer => ({ kind: "symbol", id, name, detail: place }));
    const found = [...paths.map(({ path, kind }): Offer => offerOf(path, kind)), ...known, ...named];
    this.offers = [...this.offers.filter(({ kind }) => kind === "source"), ...found];
    // What the user has gone to stays chosen.
    const place = this.offers.findIndex(({ kind, name }) => this.active > 0 && kind === chosen?.kind && name === chosen.name);
    this.active = Math.max(place, 0);
    return true;
  }

  move(by: number): void {
    const { length } = this.offers;
    if (length > 0) this.active = this.active < 0 && by < 0 ? length - 1 : (this.active + by + length) % length;
  }

  /** Not for what is being written now; something new is completed again. */
  dismiss(): void {
    this.dismissed = this.token?.start;
    this.close();
  }

  /** The text with an offer in it. `goOn`: a folder's inside is offered next. */
  accept(text: string, index = this.active, goOn = false): Completed | undefined {
    const offer = this.offers[goOn ? Math.max(index, 0) : index];
    const { token } = this;
    if (token === undefined || offer === undefined) return undefined;
    const into = goOn && offer.kind === "folder";
    const begun = offer.kind === "name" && offer.name.endsWith(":"); // what it is about is still to be written
    const written = into ? `@${offer.name.includes(" ") ? '"' : ""}${offer.name}` : `${spelled(offer)}${begun ? "" : " "}`;
    const before = text.slice(0, token.start) + written;
    const behind = text.slice(token.end);
    this.close();
    return { text: before + (into ? behind : behind.replace(/^ /, "")), caret: before.length, offer };
  }

  private close(): void {
    this.token = undefined;
    this.offers = [];
    this.active = 0;
    this.request += 1;
  }
}

function isPath(kind: Offer["kind"]): boolean {
  return kind === "file" || kind === "folder";
}

function offerOf(path: string, kind: "file" | "folder"): Offer {
  const name = kind === "folder" ? `${path}/` : path;
  const folder = path.slice(0, Math.max(path.lastIndexOf("/"), 0));
  return { kind, name, detail: folder };
}

function spelled({ kind, name }: Offer): string {
  if (kind === "command") return `/${name}`;
  if (kind === "value") return name;
  return /\s/.test(name) ? `@"${name}"` : `@${name}`;
}
