/** The page's texts in the user's language: the extension's own bundle, which it puts into the page. */

const bundle: Map<string, unknown> = new Map(Object.entries(read()));

function read(): object {
  const text = typeof document === "undefined" ? "" : (document.querySelector("#words")?.textContent ?? "");
  return text === "" ? {} : Object(JSON.parse(text));
}

/** As `vscode.l10n.t`: an English text with `{0}`, and what stands there. */
export function t(message: string, ...parts: (string | number)[]): string {
  const known = bundle.get(message);
  const words = typeof known === "string" ? known : message;
  return words.replace(/\{(\d+)\}/g, (whole, index: string) => String(parts[Number(index)] ?? whole));
}
