/** The banner of a conversation that another editor has open. */

import type { State } from "../messages";
import { button, element } from "./elements";
import { find, post } from "./host";

const banner = find("#elsewhere", HTMLElement);
let shown = "";

export function showState({ elsewhere }: State): void {
  const now = JSON.stringify(elsewhere ?? null);
  if (now === shown) return; // a focused button stays so
  shown = now;
  banner.hidden = elsewhere === undefined;
  const buttons = elsewhere?.buttons.map(({ act, label }) => button(label, "secondary", () => post({ type: "elsewhere", act }))) ?? [];
  banner.replaceChildren(element("span", "", elsewhere?.text ?? ""), ...buttons);
}
