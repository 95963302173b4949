/** The whole output of a call, of which the model and the chat got a part: the server keeps it. */

import * as vscode from "vscode";

import type { Session } from "./session";
import { showText } from "./shownTexts";

/** VS Code opens no much longer text from an extension. */
const MOST = 20_000_000;

interface Part {
  text: string;
  totalCharacters: number;
  nextOffset?: number;
}

export async function showWholeOutput(session: Session, artifact: string): Promise<void> {
  const text = await wholeOutput((offset) => session.ask<Part>("_north/artifacts/read", { artifactId: artifact, offset }));
  await showText(vscode.l10n.t("Whole output"), `${session.id ?? ""}/${artifact}`, text);
}

/** Every part of it, one after the other. */
export async function wholeOutput(read: (offset: number) => Promise<Part>, most = MOST): Promise<string> {
  const texts = [];
  let offset: number | undefined = 0;
  while (offset !== undefined && offset < most) {
    const { text, totalCharacters, nextOffset }: Part = await read(offset);
    texts.push(text);
    if (nextOffset !== undefined && nextOffset >= most) texts.push(`\n${vscode.l10n.t("({0} more characters are not shown)", totalCharacters - nextOffset)}\n`);
    offset = nextOffset;
  }
  return texts.join("");
}
