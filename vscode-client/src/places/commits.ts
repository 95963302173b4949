/** Git's changes: a commit message for them, written into the box of the Source Control view, and a review of them. */

import * as vscode from "vscode";

import { showInfo, withoutLinks } from "../common/notices";
import type { Register } from "../common/registering";
import type { Attachment } from "../composer/chips";
import { diffOf } from "./attachments";
import type { Chat } from "./chat";
import { commitMessageOf, commitPrompt, REVIEW } from "./prompts";

/** The part of the Git extension's API (version 1) that is used here. */
interface Repository {
  rootUri: vscode.Uri;
  inputBox: { value: string };
  diff(staged: boolean): Promise<string>;
}

interface GitApi {
  repositories: Repository[];
}

/** Asks for a text in a conversation of its own, of which nothing stays. `waits` gets the words of a wait before the model is
 * asked again, and what ends it. */
export type AskOnce = (text: string, attachment: Attachment, token: vscode.CancellationToken, waits: (words: string, now: () => Promise<void>) => void) => Promise<string>;

export function registerCommits(chat: Chat, askAside: AskOnce, register: Register): vscode.Disposable {
  return vscode.Disposable.from(
    register("writeCommitMessage", (view) => writeMessage(askAside, view)),
    register("reviewChanges", (view) => review(chat, view)),
  );
}

async function writeMessage(askAside: AskOnce, view: unknown): Promise<void> {
  const repository = await repositoryOf(view);
  if (repository === undefined) return;
  const staged = await repository.diff(true);
  const changes = staged.trim() === "" ? await repository.diff(false) : staged;
  if (changes.trim() === "") {
    void showInfo(vscode.l10n.t("North: there are no changes to commit."));
    return;
  }
  const begun = repository.inputBox.value;
  const attachment = diffOf(changes);
  const title = vscode.l10n.t("North writes a commit message");
  const message = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title, cancellable: true },
    async (progress, token) => {
      let wait = 0;
      const waits = (message: string, now: () => Promise<void>): void => {
        const own = ++wait;
        progress.report({ message: withoutLinks(message) });
        if (message === "") return; // it is over
        const tryNow = vscode.l10n.t("Try now");
        void showInfo(`North: ${message}`, tryNow).then((chosen) => (chosen === tryNow && own === wait ? now() : undefined));
      };
      return commitMessageOf(await askAside(commitPrompt(begun.trim()), attachment, token, waits));
    },
  );
  // What was typed meanwhile is the user's.
  if (message !== "" && repository.inputBox.value === begun) repository.inputBox.value = message;
}

async function review(chat: Chat, view: unknown): Promise<void> {
  const repository = await repositoryOf(view);
  if (repository === undefined) return;
  const changes = [await repository.diff(true), await repository.diff(false)].filter((part) => part.trim() !== "").join("\n");
  if (changes === "") {
    void showInfo(vscode.l10n.t("North: there are no changes to review."));
    return;
  }
  await chat.ask(REVIEW, [diffOf(changes)]);
}

/** The one whose view the command was chosen in, or the only one. */
async function repositoryOf(view: unknown): Promise<Repository | undefined> {
  const { repositories } = await git();
  const root = typeof view === "object" && view !== null && "rootUri" in view && view.rootUri instanceof vscode.Uri ? view.rootUri : undefined;
  const named = repositories.find((one) => one.rootUri.toString() === root?.toString());
  if (named !== undefined || repositories.length === 1) return named ?? repositories[0];
  const items = repositories.map((repository) => ({ label: vscode.workspace.asRelativePath(repository.rootUri), repository }));
  if (items.length === 0) void showInfo(vscode.l10n.t("North: there is no Git repository here."));
  return (await vscode.window.showQuickPick(items, { title: vscode.l10n.t("North: Which repository?") }))?.repository;
}

async function git(): Promise<GitApi> {
  const extension = vscode.extensions.getExtension<{ getAPI(version: 1): GitApi }>("vscode.git");
  if (extension === undefined) return { repositories: [] };
  const exported = extension.isActive ? extension.exports : await extension.activate();
  return exported.getAPI(1);
}
