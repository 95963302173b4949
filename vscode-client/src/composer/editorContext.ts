/** What the editor shows, for the next message: the selection and the file are offered, or go along by themselves if the
 * user has set that. Without the editor's API. */

import type { Chip } from "../messages";
import { placeOf } from "./chips";

/** A longer selection goes along only when the user says so. */
const LONGEST = 100_000;

/** The setting `north.alwaysAttach`. */
export type Always = "never" | "selection" | "selectionOrFile";

/** A text in an editor. */
export interface Shown {
  /** Its address, and how people call it. */
  uri: string;
  name: string;
  /** It is a file of an open folder: North can read it by itself. */
  isFile: boolean;
  /** The first and the last line, from 1, and the number of characters. */
  selection?: { lines: [number, number]; length: number };
}

export interface Offer extends Chip {
  id: "selection" | "file";
  kind: "selection" | "file";
  /** The address of what would be attached. */
  uri: string;
}

/** What can be attached: the selection before its file. */
export function offersOf(shown: Shown | undefined): Offer[] {
  if (shown === undefined) return [];
  const { uri, name, isFile, selection } = shown;
  const offers: Offer[] = [];
  if (selection !== undefined) {
    const { lines } = selection;
    const label = placeOf(name, lines);
    offers.push({ id: "selection", kind: "selection", label, title: label, uri: `${uri}#L${lines[0]}-L${lines[1]}` });
  }
  if (isFile) offers.push({ id: "file", kind: "file", label: name, title: name, uri });
  return offers;
}

/** What goes along by itself with the next message. */
export class Automatic {
  /** What the user does not want with it. */
  private dismissed = "";
  /** Whether North may read a file, by its address. */
  private readonly readable = new Map<string, boolean>();

  constructor(
    private readonly always: () => Always,
    /** Asks the server, which keeps some files closed. */
    private readonly mayRead: (uri: string) => Promise<boolean>,
  ) {}

  /** As far as it is known that North may read it. */
  of(shown: Shown | undefined): Offer | undefined {
    return shown !== undefined && this.readable.get(shown.uri) === true ? this.wanted(shown) : undefined;
  }

  /** Asks whether what would go along may be read: `anew` even if that is known. */
  async check(shown: Shown | undefined, anew: boolean): Promise<void> {
    if (shown === undefined || this.wanted(shown) === undefined || (!anew && this.readable.has(shown.uri))) return;
    this.readable.set(shown.uri, false);
    this.readable.set(shown.uri, await this.mayRead(shown.uri));
  }

  dismiss(shown: Shown | undefined): void {
    this.dismissed = (shown === undefined ? undefined : this.wanted(shown)?.uri) ?? "";
  }

  /** A message has gone: what the user did not want with it may go with the next one. */
  sent(): void {
    this.dismissed = "";
  }

  private wanted(shown: Shown): Offer | undefined {
    const always = this.always();
    const [first] = offersOf(shown);
    if (always === "never" || first === undefined || first.uri === this.dismissed || !shown.isFile) return undefined;
    if (first.id === "file") return always === "selectionOrFile" ? first : undefined;
    return (shown.selection?.length ?? 0) > LONGEST ? undefined : first;
  }
}
