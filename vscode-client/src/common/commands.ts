/** The palette's commands, and the context keys that tell when they can be used. */

import * as vscode from "vscode";

import type { Panel } from "../chat/panel";
import type { Session } from "../chat/session";
import type { Proposals } from "../review/proposals";
import type { OpenQuestion, Questions } from "../review/questions";
import { confirmed, runShown } from "../review/approvals";
import type { Permissions } from "../review/permissions";
import { chooseAndTakeBack, takeBack } from "../review/undo";
import { storeKey } from "./keys";
import { reason } from "./logger";
import { openSetting } from "./settings";

interface Parts {
  session: Session;
  panel: Panel;
  questions: Questions;
  proposals: Proposals;
  permissions: Permissions;
  log: vscode.LogOutputChannel;
}

export function registerCommands({ session, panel, questions, proposals, permissions, log }: Parts): vscode.Disposable {
  const alwaysAccept = async (question: OpenQuestion): Promise<void> => {
    const option = question.options.find((offered) => offered.kind === "allow_always");
    if (option !== undefined && (await confirmed(question, option))) await proposals.accept(question, "allow_always");
  };
  const onEdit = async (act: (question: OpenQuestion) => Promise<void>): Promise<void> => {
    const question = proposals.current();
    if (question !== undefined) await act(question);
  };
  const commands: Record<string, () => unknown> = {
    newChat: async () => {
      await panel.show(false);
      await session.renew();
    },
    showChat: () => panel.show(false),
    showChanges: () => onEdit((question) => proposals.show(question, true)),
    accept: () => onEdit((question) => proposals.accept(question)),
    alwaysAccept: () => onEdit(alwaysAccept),
    reject: () => onEdit((question) => proposals.reject(question)),
    acceptHunk: () => proposals.decideHunk("accepted"),
    rejectHunk: () => proposals.decideHunk("rejected"),
    runCommand: () => runShown(questions, () => panel.show(false)),
    denyCommand: () => {
      const [question] = questions.of("command");
      if (question !== undefined) questions.chooseKind(question, "reject_once");
    },
    showPermissions: () => permissions.choose(),
    undo: () => takeBack(session, { steps: 1 }),
    redo: () => takeBack(session, { redo: 1 }),
    undoEdit: () => chooseAndTakeBack(session),
    stop: () => session.stop(),
    switchMode: () => switchMode(session),
    storeKey: () => storeKey(session),
    openSetting,
    restartServer: () => session.restart(),
    showLog: () => log.show(),
  };
  const registered = Object.entries(commands).map(([name, run]) =>
    vscode.commands.registerCommand(`north.${name}`, async () => {
      try {
        await run();
      } catch (error) {
        log.error(`north.${name}: ${reason(error)}`);
        void vscode.window.showErrorMessage(`North: ${reason(error)}`);
      }
    }),
  );
  return vscode.Disposable.from(...registered, keepContext(session, questions, proposals));
}

function keepContext(session: Session, questions: Questions, proposals: Proposals): vscode.Disposable {
  const set = (key: string, value: boolean) => void vscode.commands.executeCommand("setContext", `north.${key}`, value);
  const update = () => {
    const edit = proposals.current();
    set("busy", session.busy);
    set("editPending", edit !== undefined);
    set("editMayBeRemembered", edit?.options.some((option) => option.kind === "allow_always") ?? false);
    set("hunkPending", proposals.hasHunks);
    set("commandPending", questions.of("command").length > 0);
  };
  update();
  return vscode.Disposable.from(
    session.onState(update),
    proposals.onChange(update),
    vscode.window.tabGroups.onDidChangeTabs(update),
    vscode.window.onDidChangeActiveTextEditor(update),
  );
}

async function switchMode(session: Session): Promise<void> {
  await session.open();
  const items = session.modes.map((mode) => ({
    label: mode.name,
    description: mode.id === session.modeId ? "current" : "",
    detail: mode.description ?? "",
    id: mode.id,
  }));
  const chosen = await vscode.window.showQuickPick(items, { title: "North: Switch Mode", placeHolder: "What North may do" });
  if (chosen !== undefined) await session.setMode(chosen.id);
}
