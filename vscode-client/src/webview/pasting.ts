/** Pictures and files that are pasted into the input or dropped on the page. */

import { post } from "./host";

const URIS = ["application/vnd.code.uri-list", "text/uri-list"];

/** `refuse` is called for files that are no pictures and that nobody can find again. */
export function acceptPictures(input: HTMLElement, entry: HTMLElement, take: (file: Blob) => void, refuse: () => void): void {
  input.addEventListener("paste", (event) => {
    const found = picturesOf(event.clipboardData);
    if (found.length === 0) return;
    event.preventDefault();
    found.forEach(take);
  });
  document.addEventListener("dragover", (event) => {
    if (!isWanted(event.dataTransfer)) return;
    event.preventDefault();
    entry.classList.add("dropping");
  });
  for (const end of ["dragleave", "dragend", "drop"]) document.addEventListener(end, () => entry.classList.remove("dropping"));
  document.addEventListener("drop", (event) => {
    const { dataTransfer } = event;
    if (!isWanted(dataTransfer)) return;
    event.preventDefault();
    const found = picturesOf(dataTransfer);
    found.forEach(take);
    if (found.length === 0 && !dropUris(dataTransfer)) refuse();
    input.focus();
  });
}

export function fromBase64(mimeType: string, data: string): Blob {
  const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
  return new Blob([bytes], { type: mimeType });
}

function picturesOf(data: DataTransfer | null): File[] {
  return [...(data?.files ?? [])].filter(({ type }) => type.startsWith("image/"));
}

function isWanted(data: DataTransfer | null): data is DataTransfer {
  return data !== null && ["Files", ...URIS].some((type) => data.types.includes(type));
}

function dropUris(data: DataTransfer): boolean {
  const text = URIS.map((type) => data.getData(type)).find((uris) => uris !== "") ?? "";
  const uris = text.split(/\r?\n/).filter((line) => line !== "" && !line.startsWith("#"));
  if (uris.length > 0) post({ type: "attachUris", uris });
  return uris.length > 0;
}
