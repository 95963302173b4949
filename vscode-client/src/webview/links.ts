/** Links tell the extension where they lead; it asks, or looks in the open folders, and opens them. */

import { find, post } from "./host";

function follow(event: Event): void {
  const link = event.target instanceof Element ? event.target.closest<HTMLElement>("a, code[data-symbol][role=link]") : null;
  if (link === null) return;
  event.preventDefault();
  const { address, path, line, symbol } = link.dataset;
  if (symbol !== undefined) return post({ type: "symbol", name: symbol });
  if (address !== undefined) post({ type: "link", address });
  else if (path !== undefined) post({ type: "place", path, line: line === undefined ? null : Number(line) });
}

for (const area of ["#rows", "#waiting"]) {
  const found = find(area, HTMLElement);
  found.addEventListener("click", follow);
  found.addEventListener("keydown", (event) => {
    if (event.key === "Enter") follow(event);
  });
}
