/** What stands there before anything was said: examples for the input, and the way to a key. */

import type { State } from "../messages";
import { offerDraft, focus } from "./composer";
import { element } from "./elements";
import { find, post } from "./host";

const welcome = find("#welcome", HTMLElement);
let drawn = "";

export function showState(state: State): void {
  const { heading, words, examples, key, keyButton } = state.welcome;
  const next = JSON.stringify(state.welcome);
  if (next === drawn) return; // a button that has the focus keeps it
  drawn = next;
  const list = element("ul", "");
  for (const example of examples) {
    const item = element("li", "");
    item.append(button(example, "secondary", () => {
      offerDraft(example);
      focus();
    }));
    list.append(item);
  }
  welcome.replaceChildren(element("h2", "", heading), list, element("p", "", words));
  if (key === "") return;
  welcome.append(element("p", "", key), button(keyButton, "secondary", () => post({ type: "run", command: "north.storeKey" })));
}

function button(text: string, className: string, act: () => void): HTMLElement {
  const made = element("button", className, text);
  made.addEventListener("click", act);
  return made;
}
