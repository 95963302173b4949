/** What stands there before anything was said: examples for the input, and what is still to be set up. */

import type { Remedy, SetupRow, State, Welcome } from "../messages";
import { focus, offerDraft } from "./composer";
import { button, element, screenReaderText, icon } from "./elements";
import { find, post } from "./host";

const welcome = find("#welcome", HTMLElement);
let drawn = "";

export function showState({ welcome: said }: State): void {
  const next = JSON.stringify(said);
  if (next === drawn) return; // a button that has the focus keeps it
  drawn = next;
  const opening = [element("h2", "", said.heading), element("p", "", said.words)];
  welcome.replaceChildren(...opening, ...examples(said), ...setup(said), remedyButton(said.more, "plain"));
}

function examples({ examplesHeading, examples: texts }: Welcome): HTMLElement[] {
  const list = element("ul", "examples");
  for (const text of texts) {
    const item = element("li", "");
    item.append(
      button(text, "secondary", () => {
        offerDraft(text);
        focus();
      }),
    );
    list.append(item);
  }
  return [element("h3", "", examplesHeading), list];
}

function setup({ setupHeading, setup: rows }: Welcome): HTMLElement[] {
  if (rows.length === 0) return [];
  const list = element("ul", "setup");
  list.append(...rows.map(setupRow));
  return [element("h3", "", setupHeading), list];
}

function setupRow({ id, done, state, words, remedy }: SetupRow): HTMLElement {
  const made = element("li", done ? "done" : "open");
  made.dataset.step = id;
  made.append(icon(done ? "pass" : "circle-large-outline"), screenReaderText(state), element("span", "words", words));
  made.append(remedyButton(remedy, done ? "plain" : "secondary"));
  return made;
}

function remedyButton({ command, label }: Remedy, kind: string): HTMLElement {
  return button(label, kind, () => post({ type: "run", command }));
}
