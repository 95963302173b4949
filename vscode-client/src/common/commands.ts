/** The palette's commands, and the context keys that tell when they can be used. */

import * as vscode from "vscode";

import { browse, deleteListed, importConversation, manage, renameListed, restore, showWanted } from "../chat/browse";
import type { Conversations } from "../chat/conversations";
import { exportConversation, showAsText } from "../chat/exporting";
import { ContextPage } from "../chat/contextPage";
import { chooseGuidance } from "../chat/guidance";
import { openLearned } from "../chat/learned";
import { showTasks } from "../chat/tasks";
import { goalDocuments, todoDocuments } from "../chat/editedDocuments";
import type { Panel } from "../chat/panel";
import type { Proposals } from "../review/proposals";
import { registerReviewCommands } from "../review/commands";
import type { OpenQuestion, Questions } from "../review/questions";
import { confirmLasting, runShown } from "../review/approvals";
import type { Permissions } from "../review/permissions";
import { chooseAndTakeBack, takeBack } from "../review/undo";
import { storeKey } from "./keys";
import { reason } from "./logger";
import { registerAll, registrar } from "./registering";
import { openSetting } from "./settings";
import { openSettingsFile } from "./settingsFile";
import { chooseSetting } from "./settingsList";
import { textsOf } from "./serverSettings";
import { ServerLog, showStorage } from "./storage";

interface Parts {
  conversations: Conversations;
  /** The side bar's. */
  panel: Panel;
  questions: Questions;
  proposals: Proposals;
  permissions: Permissions;
  log: vscode.LogOutputChannel;
  /** What the extension contributes. */
  manifest: unknown;
}

export function registerCommands(parts: Parts): vscode.Disposable {
  const { conversations, panel, questions, proposals, permissions, log, manifest } = parts;
  const settingTexts = textsOf(manifest);
  const serverLog = new ServerLog();
  const contextPage = new ContextPage();
  const todo = todoDocuments(conversations);
  const goal = goalDocuments(conversations);
  /** The conversation that the user is at. */
  const here = () => conversations.active.session;
  const alwaysAccept = async (question: OpenQuestion): Promise<void> => {
    const option = question.options.find((offered) => offered.kind === "allow_always");
    const lasts = option === undefined ? undefined : await confirmLasting(question, option);
    if (lasts !== undefined) await proposals.accept(question, lasts);
  };
  const onEdit = async (act: (question: OpenQuestion) => Promise<void>): Promise<void> => {
    const question = proposals.current();
    if (question !== undefined) await act(question);
  };
  const commands = {
    newChat: async () => {
      await panel.show(false);
      await conversations.main.session.renew();
    },
    showChat: () => panel.show(false),
    showChanges: () => onEdit((question) => proposals.show(question, true)),
    accept: () => onEdit((question) => proposals.accept(question)),
    alwaysAccept: () => onEdit(alwaysAccept),
    reject: () => onEdit((question) => proposals.reject(question)),
    runCommand: () => runShown(questions, () => conversations.showWaiting()),
    denyCommand: () => {
      const [question] = questions.of("command");
      if (question !== undefined) questions.chooseKind(question, "reject_once");
    },
    showPermissions: async () => {
      await permissions.choose(here());
      await conversations.askPermissions();
    },
    undo: () => takeBack(here(), { steps: 1 }),
    redo: () => takeBack(here(), { redo: 1 }),
    undoEdit: () => chooseAndTakeBack(here()),
    stop: () => here().stop(),
    switchMode: () => conversations.active.panel.pick("mode"),
    switchModel: () => conversations.active.panel.pick("model"),
    switchThinking: () => conversations.active.panel.pick("thought_level"),
    switchApprovals: () => conversations.active.panel.pick("approvals"),
    newChatInTab: () => conversations.openTab(),
    conversations: () => browse(conversations),
    manageConversations: () => manage(conversations),
    importConversation: () => importConversation(conversations),
    restoreConversation: () => restore(conversations),
    renameListed,
    deleteListed,
    exportConversation: () => exportConversation(conversations),
    showAsText: () => showAsText(conversations),
    showContext: () => contextPage.show(here()),
    openLearned: () => openLearned(here()),
    guidance: () => chooseGuidance(here(), conversations.active.panel),
    editTodo: () => todo.show(here()),
    editGoal: () => goal.show(here()),
    showTasks: () => showTasks(here()),
    showWaiting: () => conversations.showWaiting(),
    storeKey: () => storeKey(here()),
    openSetting: () => openSetting(),
    settings: () => chooseSetting({ ask: (method, params) => here().ask(method, params), textOf: settingTexts, openFile: (path) => openSettingsFile(path) }),
    restartServer: () => here().restart(),
    showLog: () => log.show(),
    showServerLog: () => serverLog.show(here()),
    showStorage: () => showStorage(here()),
  };
  const wanted = conversations.onWanted(({ id, folder }) => void showWanted(conversations, id, folder).catch((error: unknown) => log.error(reason(error))));
  return vscode.Disposable.from(registerAll(commands, registrar(log)), wanted, serverLog, contextPage, todo, goal, registerReviewCommands(proposals, log), keepContext(conversations, questions, proposals));
}

function keepContext(conversations: Conversations, questions: Questions, proposals: Proposals): vscode.Disposable {
  const set = (key: string, value: boolean) => void vscode.commands.executeCommand("setContext", `north.${key}`, value);
  const update = () => {
    const edit = proposals.current();
    set("busy", conversations.active.session.busy);
    set("editPending", edit !== undefined);
    set("editMayBeRemembered", edit?.options.some((option) => option.kind === "allow_always") ?? false);
    set("hunkPending", proposals.hasHunks);
    set("commandPending", questions.of("command").length > 0);
  };
  update();
  return vscode.Disposable.from(
    conversations.onState(update),
    proposals.onChange(update),
    vscode.window.tabGroups.onDidChangeTabs(update),
    vscode.window.onDidChangeActiveTextEditor(update),
  );
}

