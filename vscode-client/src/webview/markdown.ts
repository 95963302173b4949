/** Markdown as safe elements: no HTML of the text's own, no images, and links that only tell the extension. */

import DOMPurify from "dompurify";
import MarkdownIt from "markdown-it";

const markdown = new MarkdownIt({ html: false, linkify: false, breaks: false });
markdown.disable("image");

const ALLOWED_TAGS =
  "a blockquote br code del em h1 h2 h3 h4 h5 h6 hr li ol p pre s strong table tbody td th thead tr ul".split(" ");

export function render(text: string): DocumentFragment {
  const fragment = DOMPurify.sanitize(markdown.render(text), {
    ALLOWED_TAGS,
    ALLOWED_ATTR: ["href", "start"],
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
  });
  for (const link of fragment.querySelectorAll("a")) disarm(link);
  return fragment;
}

/** Without `href` neither the browser nor VS Code follows a link: what happens is up to the extension. */
function disarm(link: HTMLAnchorElement): void {
  const address = link.getAttribute("href") ?? "";
  link.removeAttribute("href");
  if (!/^https?:\/\//i.test(address)) return;
  link.dataset.address = address;
  link.title = address;
  link.setAttribute("role", "link");
  link.tabIndex = 0;
}
