/** The page's smallest pieces. */

export function element(tag: string, className: string, text = ""): HTMLElement {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
}

export function button(text: string, className: string, act: () => void): HTMLButtonElement {
  const made = document.createElement("button");
  made.type = "button";
  made.className = className;
  made.textContent = text;
  made.addEventListener("click", act);
  return made;
}

/** One of VS Code's own icons; what it means has to be said beside it. */
export function icon(name: string): HTMLElement {
  const made = element("span", `codicon codicon-${name}`);
  made.setAttribute("aria-hidden", "true");
  return made;
}

/** A button that is an icon; its words are its name. */
export function iconButton(name: string, words: string, act: () => void): HTMLButtonElement {
  const made = button("", "plain icon", act);
  made.append(icon(name));
  made.title = words;
  made.setAttribute("aria-label", words);
  return made;
}

/** Words for those who hear the page. */
export function screenReaderText(text: string): HTMLElement {
  return element("span", "visually-hidden", text);
}

/** A box that may scroll: it has a name, and is a stop of the Tab key while it does (see `walk.ts`). */
export function scrolls(box: HTMLElement, name: string): HTMLElement {
  box.classList.add("scrolls");
  box.tabIndex = -1;
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", name);
  return box;
}

/** Sets a text only where it has changed: what is selected stays selected, and what is said as it changes is said once. */
export function setText(node: HTMLElement, text: string): void {
  if (node.textContent !== text) node.textContent = text;
}
