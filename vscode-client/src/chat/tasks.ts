/** The tasks of agents: their conversations are read, and those that run can be cancelled. */

import * as vscode from "vscode";

import { reason } from "../common/logger";
import { showError, showInfo } from "../common/notices";
import type { TaskAct } from "../messages";
import { taskState, type AgentTask } from "./taskRows";
import type { Session } from "./session";

const SCHEME = "north-task";
/** The conversations that were opened, by the addresses of read-only documents. */
const texts = new Map<string, string>();
let registered: vscode.Disposable | undefined;
const changed = new vscode.EventEmitter<vscode.Uri>();

/** What the user does with a task in the chat. */
export async function actOnTask(session: Session, task: string, act: TaskAct): Promise<void> {
  if (act === "open") return openTask(session, task);
  await session.ask("_north/tasks/cancel", { taskId: task });
}

/** Shows the conversation of an agent, as far as it is. */
async function openTask(session: Session, task: string): Promise<void> {
  const { markdown } = await session.ask<{ markdown: string }>("_north/tasks/transcript", { taskId: task });
  registered ??= vscode.workspace.registerTextDocumentContentProvider(SCHEME, { onDidChange: changed.event, provideTextDocumentContent: (address) => texts.get(address.toString()) ?? "" });
  const address = vscode.Uri.from({ scheme: SCHEME, path: `/${task}.md` });
  texts.set(address.toString(), markdown);
  changed.fire(address);
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(address), { preview: true });
}

/** Lists the tasks of the conversation; the one that is chosen is opened, or cancelled by its button. */
export async function showTasks(session: Session): Promise<void> {
  const { tasks } = await session.ask<{ tasks: AgentTask[] }>("_north/tasks/list", {});
  if (tasks.length === 0) {
    void showInfo(vscode.l10n.t("No agent has been given a task in this conversation."));
    return;
  }
  const stop: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon("debug-stop"), tooltip: vscode.l10n.t("Cancel This Task") };
  const list = vscode.window.createQuickPick<vscode.QuickPickItem & { task: AgentTask }>();
  list.title = vscode.l10n.t("North: Tasks of Agents");
  list.items = tasks.map((task) => ({
    label: `${task.agent} · ${task.id}`,
    description: taskState(task.state),
    detail: task.action ?? task.description ?? "",
    buttons: task.state === "running" || task.state === "queued" ? [stop] : [],
    task,
  }));
  const act = ({ id }: AgentTask, what: TaskAct): void => {
    actOnTask(session, id, what).catch((error: unknown) => void showError(`North: ${reason(error)}`)); // it may be over by now
  };
  list.onDidTriggerItemButton(({ item }) => {
    list.hide();
    act(item.task, "cancel");
  });
  list.onDidAccept(() => {
    const [chosen] = list.selectedItems;
    list.hide();
    if (chosen !== undefined) act(chosen.task, "open");
  });
  list.onDidHide(() => list.dispose());
  list.show();
}
