/** A list of stored conversations that is searched while the user types: all that was said in them, by the server. */

import * as vscode from "vscode";

import type { SessionList } from "../acp";
import { reason } from "../common/logger";
import { showError } from "../common/notices";
import { foldersHere } from "../common/sameFolder";
import { mainFolder } from "../common/settings";
import { type StoredConversation, storedConversations } from "./stored";

export interface Row extends vscode.QuickPickItem {
  stored: StoredConversation;
}

const MOST = 200;
const PAUSE_MS = 150;

export interface Source {
  ask(method: string, params: object): Promise<SessionList>;
  /** Where those are that are open, by id. */
  places(): ReadonlyMap<string, string>;
}

export class Library {
  readonly list = vscode.window.createQuickPick<Row>();
  private everywhere = false;
  private archived = false;
  private asked = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly source: Source,
    private readonly buttonsOf: (stored: StoredConversation) => vscode.QuickInputButton[],
    title: string,
    /** Shows the deleted ones instead. */
    private readonly showTrash: () => void,
  ) {
    const { list } = this;
    list.title = title;
    list.matchOnDescription = true;
    list.matchOnDetail = true;
    list.onDidChangeValue(() => this.later());
    list.onDidTriggerButton((button) => this.toggle(button));
    list.onDidHide(() => {
      clearTimeout(this.timer);
      this.asked += 1;
      list.dispose();
    });
    this.showSwitches();
  }

  /** Throws with the server's reason. */
  async fill(): Promise<void> {
    const { list } = this;
    const asked = ++this.asked;
    const query = list.value.trim();
    const here = mainFolder()?.uri.fsPath ?? "";
    list.busy = true;
    try {
      const { everywhere } = this;
      const cwd = everywhere ? {} : { cwd: here };
      const found = await this.source.ask("_north/sessions/search", { query, ...cwd, limit: MOST, archived: this.archived ? "shown" : "hidden" });
      const isHere = await foldersHere(here, found.sessions.map(({ cwd }) => cwd ?? ""));
      if (asked !== this.asked) return; // more was typed in the meantime
      const rows = storedConversations(found.sessions, this.source.places(), new Date(), isHere);
      // What the server has found is shown, wherever the words stand.
      list.items = rows.map((stored) => ({
        label: stored.title,
        description: stored.facts,
        ...(stored.snippet === "" ? {} : { detail: stored.snippet }),
        alwaysShow: true,
        buttons: this.buttonsOf(stored),
        stored: everywhere ? stored : { ...stored, isHere: true }, // also what the folder was called before
      }));
      list.placeholder = this.words(rows.length, query, found.truncated === true);
    } finally {
      if (asked === this.asked) list.busy = false;
    }
  }

  private words(count: number, query: string, truncated: boolean): string {
    if (truncated) return vscode.l10n.t("Not all conversations could be searched in time: there may be more");
    if (count > 0 || query !== "") return vscode.l10n.t("Search titles and everything that was said");
    return this.everywhere ? vscode.l10n.t("There is no conversation yet") : vscode.l10n.t("There is no conversation of this folder yet");
  }

  private later(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.again(), PAUSE_MS);
  }

  private again(): void {
    void this.fill().catch((error: unknown) => {
      this.list.hide();
      void showError(`North: ${reason(error)}`);
    });
  }

  private toggle(button: vscode.QuickInputButton): void {
    if (button === this.list.buttons[2]) {
      this.list.hide();
      return this.showTrash();
    }
    if (button === this.list.buttons[0]) this.everywhere = !this.everywhere;
    else this.archived = !this.archived;
    this.showSwitches();
    this.again();
  }

  private showSwitches(): void {
    this.list.buttons = [
      {
        iconPath: new vscode.ThemeIcon(this.everywhere ? "folder" : "globe"),
        tooltip: this.everywhere ? vscode.l10n.t("Show Only Those of This Folder") : vscode.l10n.t("Show Those of All Folders"),
      },
      {
        iconPath: new vscode.ThemeIcon(this.archived ? "eye-closed" : "archive"),
        tooltip: this.archived ? vscode.l10n.t("Hide Archived Ones") : vscode.l10n.t("Show Archived Ones Too"),
      },
      { iconPath: new vscode.ThemeIcon("trash"), tooltip: vscode.l10n.t("Restore a Deleted One…") },
    ];
  }
}
