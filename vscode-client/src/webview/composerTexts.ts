/** The words of the composer. */

import type { Source } from "./completion";
import { t } from "./translations";

export const TEXTS = {
  badPicture: t("This picture cannot be read."),
  notTaken: t("From outside VS Code only pictures can be dropped; files come from its Explorer."),
  remove: (label: string): string => t("Remove {0}", label),
  attach: (label: string): string => t("Attach {0}", label),
  suggested: (title: string): string => t("{0} is open in the editor: click to attach it", title),
  selected: (title: string): string => t("{0} is selected in the editor: click to attach it", title),
};

export const SOURCES: readonly Source[] = [
  { name: "selection", detail: t("what is selected in the editor") },
  { name: "file", detail: t("the file in the editor") },
  { name: "problems", detail: t("problems of the file in the editor") },
  { name: "all-problems", detail: t("problems of the workspace") },
  { name: "terminal", detail: t("what is selected in the terminal") },
  { name: "diff", detail: t("what git shows as changed") },
];
