/** What is said to those who hear the page. */

import { find } from "./host";
import { shortened } from "./names";

export function say(text: string): void {
  if (text === "") return;
  const place = find("#announce", HTMLElement);
  const words = shortened(text);
  // The same words again are heard only if they are not quite the same.
  place.textContent = place.textContent === words ? `${words}\u00a0` : words;
}
