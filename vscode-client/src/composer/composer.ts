/** What goes with the next message, and what the input offers: the extension's side of the page's composer. */

import * as vscode from "vscode";

import type { PromptList } from "../acp";
import { reason } from "../common/logger";
import { showWarning } from "../common/notices";
import { mainFolder } from "../common/settings";
import type { ComposerState, FoundName, FromPage, SlashCommand, SourceName, ToPage } from "../messages";
import { addressOf, type Attachment, Attachments, pictureType, TooManyAttachments } from "./chips";
import { attachmentsOf, fileOrFolder, picture } from "./attachmentSources";
import { Automatic, offersOf } from "./editorContext";
import { alwaysAttached, EditorWatch } from "./editorWatch";
import { fileAddress } from "./fileAddress";
import { chooseSource } from "./picking";
import { Symbols } from "./symbols";
import { type Choosing, valuesOf } from "./values";

/** What the composer needs of the conversation. */
export interface Conversation extends Choosing {
  readonly commands: SlashCommand[];
  readonly onState: vscode.Event<void>;
}

interface Completed {
  paths: { path: string; uri: string; kind: "file" | "folder" }[];
  names?: FoundName[];
  isIncomplete: boolean;
}

const LARGEST_PICTURE = 30 * 1024 * 1024;
const MOST_DROPPED = 20;
const MOST_REMEMBERED = 500;
const MOST_PROMPTS = 200;
/** The last question stands; older ones are not worth an answer. */
const QUIET_MS = 60;
/** The chip of what goes along by itself. */
const ALONG = "editor";

export class Composer implements vscode.Disposable {
  private readonly attachments = new Attachments(() => this.postState());
  private readonly watch = new EditorWatch(() => void this.lookAtEditor());
  private readonly automatic = new Automatic(alwaysAttached, (uri) => this.mayRead(uri));
  /** Paths that were offered, by what is shown of them: only those can be attached by their names. */
  private readonly offered = new Map<string, Completed["paths"][number]>();
  private readonly symbols = new Symbols();
  /** The last question of the input, and how often it asked: the same one is asked again while folders are being read. */
  private asked = 0;
  private round = 0;
  private posted = "";
  private readonly listeners: vscode.Disposable[];

  constructor(
    private readonly conversation: Conversation,
    private readonly post: (message: ToPage) => void,
  ) {
    this.listeners = [this.watch, conversation.onState(() => this.postState())];
  }

  dispose(): void {
    vscode.Disposable.from(...this.listeners).dispose();
  }

  get isEmpty(): boolean {
    return this.attachments.all.length === 0;
  }

  /** All that is attached, which belongs to a message from now on; with what goes along by itself. */
  async take(): Promise<Attachment[]> {
    const { editor, shown } = this.watch;
    await this.automatic.check(shown, true);
    const along = this.automatic.of(shown);
    const found = along === undefined ? undefined : await attachmentsOf(along.id, editor).catch(() => undefined);
    const taken = found === undefined || this.attachments.has(found) ? [] : [found];
    this.automatic.sent();
    return [...taken, ...this.attachments.take()];
  }

  /** What the user has attached, for another input. */
  takeAttached(): Attachment[] {
    return this.attachments.take();
  }

  /** Attaches what is selected in the editor, else its file. */
  async attachShown(): Promise<void> {
    const [first] = offersOf(this.watch.shown);
    if (first !== undefined) await this.attachSource(first.id);
    else this.tell(vscode.l10n.t("open the file to ask about first."));
  }

  add(attachment: Attachment, id?: string): void {
    try {
      this.attachments.add(attachment, id);
    } catch (error) {
      if (!(error instanceof TooManyAttachments)) throw error;
      const text = error.what === "pictures" ? vscode.l10n.t("At most {0} pictures go with a message.", error.most) : vscode.l10n.t("At most {0} things go with a message.", error.most);
      this.tell(text);
      this.postState(true); // the page may show it already
    }
  }

  /** Tells the page what it may not know: `all` even if nothing has changed. */
  postState(all = false): void {
    const state = this.state();
    const text = JSON.stringify(state);
    if (!all && text === this.posted) return;
    this.posted = text;
    this.post({ type: "composer", state });
  }

  /** What was sent in this folder before, whatever conversation it was in; without it, the page has its own. */
  private async history(): Promise<void> {
    const asked = { cwd: mainFolder()?.uri.fsPath, limit: MOST_PROMPTS };
    const found = await this.conversation.ask<PromptList>("_north/prompts/history", asked).catch(() => ({ prompts: [] }));
    this.post({ type: "history", prompts: found.prompts.map(({ text }) => text).reverse() });
  }

  /** Returns whether the message was one for the composer. */
  async receive(message: FromPage): Promise<boolean> {
    switch (message.type) {
      case "detach":
        if (message.id === ALONG) this.automatic.dismiss(this.watch.shown);
        this.attachments.remove(message.id);
        return true;
      case "attach":
        await this.choose();
        return true;
      case "attachSource":
        await this.attachSource(message.source);
        return true;
      case "attachPath": {
        const path = this.offered.get(message.path);
        if (path !== undefined) this.add(fileOrFolder(vscode.Uri.parse(path.uri, true), path.kind === "folder"));
        return true;
      }
      case "attachSymbol": {
        const symbol = await this.symbols.attachment(message.id);
        if (symbol !== undefined) this.add(symbol);
        return true;
      }
      case "attachUris":
        for (const uri of message.uris.slice(0, MOST_DROPPED)) await this.attachUri(uri);
        return true;
      case "picture":
        this.add(picture(message), message.id);
        return true;
      case "completeValue":
        this.post({ type: "values", request: message.request, values: await valuesOf(this.conversation, message.command, message.before).catch(() => []) });
        return true;
      case "history":
        await this.history();
        return true;
      case "complete":
        await this.complete(message.request, message.query);
        return true;
      default:
        return false;
    }
  }

  private state(): ComposerState {
    const { shown } = this.watch;
    const along = this.automatic.of(shown);
    const attached = new Set(this.attachments.all.map(({ block }) => addressOf(block)));
    const suggested = offersOf(shown).filter(({ uri }) => uri !== along?.uri && !attached.has(uri));
    const chips = this.attachments.chips();
    if (along !== undefined && !attached.has(along.uri)) {
      const { kind, label } = along;
      chips.unshift({ id: ALONG, kind, label, title: vscode.l10n.t("{0} goes along with each message (setting north.alwaysAttach)", label) });
    }
    return { chips, suggested: suggested.map(({ id, kind, label, title }) => ({ id, kind, label, title })), commands: this.conversation.commands };
  }

  private async lookAtEditor(): Promise<void> {
    const { shown } = this.watch;
    this.postState();
    await this.automatic.check(shown, false);
    this.postState();
  }

  /** By the server's own rules; what is not known is not sent. */
  private mayRead(uri: string): Promise<boolean> {
    const look = { tool: "read_file", arguments: { path: vscode.Uri.parse(uri, true).fsPath, startLine: 1, endLine: 1 } };
    return this.conversation.ask("_north/look", look).then(() => true, () => false);
  }

  private async choose(): Promise<void> {
    const chosen = await chooseSource();
    if (chosen === undefined) return;
    if (typeof chosen === "string") return this.attachSource(chosen);
    for (const uri of chosen) await this.attachUri(uri.toString());
  }

  private async attachSource(source: SourceName): Promise<void> {
    const found = await attachmentsOf(source, this.watch.editor).catch((error: unknown) => reason(error));
    if (typeof found === "string") this.tell(found);
    else this.add(found);
  }

  private async attachUri(address: string): Promise<void> {
    try {
      const uri = vscode.Uri.parse(fileAddress(address, vscode.env.remoteName !== undefined), true);
      if (uri.scheme !== "file") throw new Error(vscode.l10n.t("it is not a file on this computer"));
      const { type, size } = await vscode.workspace.fs.stat(uri);
      const mimeType = pictureType(uri.path);
      if (type === vscode.FileType.File && mimeType !== undefined) {
        if (size > LARGEST_PICTURE) throw new Error(vscode.l10n.t("the picture is too large"));
        const data = Buffer.from(await vscode.workspace.fs.readFile(uri)).toString("base64");
        return this.post({ type: "loadPicture", mimeType, data });
      }
      if (vscode.workspace.getWorkspaceFolder(uri) === undefined) throw new Error(vscode.l10n.t("North reads what is in the open folders"));
      this.add(fileOrFolder(uri, (type & vscode.FileType.Directory) !== 0));
    } catch (error) {
      this.tell(vscode.l10n.t("This cannot be attached: {0}", reason(error)));
    }
  }

  private async complete(request: number, query: string): Promise<void> {
    this.asked = request;
    this.round += 1;
    const { round } = this;
    await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
    if (request !== this.asked) return;
    const found = await this.conversation.ask<Completed>("_north/paths/complete", { query, limit: 10 }).catch((): Completed => ({ paths: [], isIncomplete: false }));
    if (this.offered.size > MOST_REMEMBERED) this.offered.clear();
    for (const path of found.paths) this.offered.set(path.path, path);
    const paths = found.paths.map(({ path, kind }) => ({ path, kind }));
    const names = (found.names ?? []).map(({ name, detail }) => ({ name, detail }));
    const answer = { type: "paths" as const, request, paths, names, isIncomplete: found.isIncomplete };
    this.post({ ...answer, symbols: [] });
    const symbols = await this.symbols.find(query); // language servers take their time
    if (symbols.length > 0 && round === this.round) this.post({ ...answer, symbols });
  }

  private tell(text: string): void {
    void showWarning(`North: ${text}`);
  }
}
