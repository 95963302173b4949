/** What the page shows until there is a conversation: that North starts, and what can be done when that takes long. */

import * as vscode from "vscode";

import { remedy } from "../common/problems";
import type { Starting } from "../messages";

/** After so long, the user wants to know what to do. */
const LONG_MS = 10_000;

export class StartingState implements vscode.Disposable {
  private timer: NodeJS.Timeout | undefined;
  private isLong = false;

  /** `changed`: it takes long now. */
  constructor(
    private readonly changed: () => void,
    private readonly longMs = LONG_MS,
  ) {}

  dispose(): void {
    clearTimeout(this.timer);
  }

  /** `starts`: there is neither a conversation nor a reason why there is none. */
  state(starts: boolean): Starting | undefined {
    if (!starts) {
      clearTimeout(this.timer);
      this.timer = undefined;
      this.isLong = false;
      return undefined;
    }
    this.timer ??= setTimeout(() => {
      this.isLong = true;
      this.changed();
    }, this.longMs);
    const { t } = vscode.l10n;
    if (!this.isLong) return { text: t("North is starting…"), remedies: [] };
    return {
      text: t("North is still starting. The first time its server is installed, which a notification shows; otherwise the log says what it is waiting for."),
      remedies: [remedy("north.showLog"), remedy("north.restartServer")],
    };
  }
}
