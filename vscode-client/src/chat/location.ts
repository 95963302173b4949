/** Where the chat is: in the side bar, or in the second one. Without the editor's API. */

/** Views of package.json, of which one is shown: it says by these names where. */
export const VIEWS = { sideBar: "north.chat", secondarySideBar: "north.chatBeside" } as const;

/** Extensions have views in the second side bar since VS Code 1.106. */
export function hasSecondSideBar(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  return major > 1 || (major === 1 && minor >= 106);
}

/** The view that is shown, by the setting `north.chatLocation`. */
export function viewOf(location: unknown, version: string): string {
  return location === "secondarySideBar" && hasSecondSideBar(version) ? VIEWS.secondarySideBar : VIEWS.sideBar;
}
