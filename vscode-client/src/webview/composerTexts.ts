/** The words of the composer. */

import type { Source } from "./completion";

export const TEXTS = {
  badPicture: "This picture cannot be read.",
  notTaken: "From outside VS Code only pictures can be dropped; files come from its Explorer.",
  remove: (label: string): string => `Remove ${label}`,
  attach: (label: string): string => `Attach ${label}`,
  suggested: (title: string): string => `${title} is open in the editor: click to attach it`,
};

export const SOURCES: readonly Source[] = [
  { name: "selection", detail: "what is selected in the editor" },
  { name: "file", detail: "the file in the editor" },
  { name: "problems", detail: "problems of the file in the editor" },
  { name: "all-problems", detail: "problems of the workspace" },
  { name: "terminal", detail: "what is selected in the terminal" },
  { name: "diff", detail: "what git shows as changed" },
];
