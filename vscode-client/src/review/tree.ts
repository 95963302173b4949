/** The files of the proposals that wait, each with what it adds and removes, and buttons that decide it. */

import * as path from "node:path";
import * as vscode from "vscode";

import type { ProposedFile, Verdict } from "./proposal";
import type { Proposals, Target } from "./proposals";
import { nameOf } from "./names";
import type { Review } from "./review";

export const TREE = "north.changes";

const ICONS: Record<Exclude<Verdict, "open">, vscode.ThemeIcon> = {
  accepted: new vscode.ThemeIcon("pass", new vscode.ThemeColor("testing.iconPassed")),
  rejected: new vscode.ThemeIcon("circle-slash", new vscode.ThemeColor("testing.iconFailed")),
  partly: new vscode.ThemeIcon("pass", new vscode.ThemeColor("charts.yellow")),
};

export class FileTree implements vscode.TreeDataProvider<Target>, vscode.Disposable {
  private readonly view: vscode.TreeView<Target>;
  private readonly changed = new vscode.EventEmitter<undefined>();
  private readonly listener: vscode.Disposable;

  readonly onDidChangeTreeData = this.changed.event;

  constructor(private readonly proposals: Proposals) {
    this.view = vscode.window.createTreeView(TREE, { treeDataProvider: this });
    this.listener = proposals.onChange(() => {
      this.changed.fire(undefined);
      this.view.description = progress(proposals.open);
    });
  }

  dispose(): void {
    vscode.Disposable.from(this.view, this.changed, this.listener).dispose();
  }

  getChildren(target?: Target): Target[] {
    if (target !== undefined) return [];
    return this.proposals.open.flatMap((review) => review.files.map((file) => ({ question: review.question.id, path: file.path })));
  }

  getTreeItem(target: Target): vscode.TreeItem {
    const found = this.proposals.find(target);
    const item = new vscode.TreeItem(path.basename(target.path));
    if (found === undefined) return item; // decided in the meantime
    const { file } = found;
    const { verdict } = file;
    item.id = `${target.question}:${target.path}`;
    item.description = [counts(file), what(file), placeOf(file)].filter((part) => part !== "").join(" · ");
    item.tooltip = `${nameOf(file.path)}\n${[what(file), spoken(verdict)].filter((part) => part !== "").join(", ")}`;
    item.contextValue = verdict;
    item.accessibilityInformation = { label: `${nameOf(file.path)}, ${item.description}, ${spoken(verdict)}` };
    if (verdict === "open") {
      item.resourceUri = vscode.Uri.file(file.path);
      item.iconPath = vscode.ThemeIcon.File;
    } else item.iconPath = ICONS[verdict];
    if (file.diff !== undefined) item.command = { title: vscode.l10n.t("Show Changes"), command: "north.showFileChanges", arguments: [target] };
    return item;
  }
}

/** How far the user has come; nothing where there is a single file. */
function progress(reviews: Review[]): string {
  const files = reviews.flatMap((review) => review.files);
  const decided = files.filter((file) => file.verdict !== "open").length;
  return files.length < 2 ? "" : vscode.l10n.t("{0} of {1} files decided", decided, files.length);
}

function counts(file: ProposedFile): string {
  if (file.diff === undefined) return "";
  if (file.verdict === "rejected") return spoken("rejected");
  const { added, removed } = file.lines;
  return `+${added} −${removed}`;
}

function what({ change }: ProposedFile): string {
  switch (change.kind) {
    case "create":
      return vscode.l10n.t("new");
    case "delete":
      return vscode.l10n.t("deleted");
    case "rename":
      return vscode.l10n.t("moved from {0}", nameOf(change.oldPath ?? ""));
    default:
      return "";
  }
}

function placeOf(file: ProposedFile): string {
  const folder = path.dirname(nameOf(file.path));
  return folder === "." ? "" : folder;
}

function spoken(verdict: Verdict): string {
  switch (verdict) {
    case "open":
      return vscode.l10n.t("not decided yet");
    case "accepted":
      return vscode.l10n.t("accepted");
    case "rejected":
      return vscode.l10n.t("rejected");
    case "partly":
      return vscode.l10n.t("accepted in part");
  }
}
