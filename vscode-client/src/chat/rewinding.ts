/** Going back to an earlier message: to edit and send it again, to go on from there, or to branch off. */

import * as vscode from "vscode";

import type { PromptBlock } from "../acp";
import { showWarning } from "../common/notices";
import type { Attachment } from "../composer/chips";
import type { PromptAct } from "../messages";
import { type Conflicts, decide, type Outcome, restored, tell } from "../review/undo";
import { type Summary, summaryOf, whileSummarizing } from "./branchSummary";
import type { PromptContent } from "./prompts";

const { l10n } = vscode;

export interface Asker {
  /** The conversation; empty while none is open. */
  readonly id: string;
  /** Another number once the user has gone to another conversation. */
  readonly chosen: number;
  ask<Result>(method: string, params: object, token?: vscode.CancellationToken): Promise<Result>;
}

interface Rewound extends Outcome {
  prompt: PromptBlock[];
  /** The user wants to be asked whether what is left behind is summarized. */
  offersSummary?: boolean;
}

type What = "conversation" | "files" | "both";

const REWIND = "_north/sessions/rewind";

export class Rewinding {
  private edited: { entry: string; conversation: string; chosen: number } | undefined;

  constructor(
    private readonly session: Asker,
    /** What belongs in the input again. */
    private readonly restore: (words: PromptContent) => void,
    /** The conversation is shown anew, and all of it is there. */
    private readonly shown: () => void,
    private readonly openCopy: (id: string, words: PromptContent) => Promise<void>,
    private readonly changed: () => void,
  ) {}

  /** The message that is being edited, by its entry: what is sent next takes its place. None once another conversation is shown. */
  get editing(): string {
    const { id, chosen } = this.session;
    if (chosen !== this.edited?.chosen) this.edited = undefined;
    return id !== "" && id === this.edited?.conversation ? this.edited.entry : "";
  }

  act(entry: string, act: PromptAct): Promise<void> {
    switch (act) {
      case "edit":
        return this.edit(entry);
      case "rewind":
        return this.rewind(entry);
      case "branch":
        return this.branch(entry);
    }
  }

  async edit(entry: string): Promise<void> {
    const { chosen } = this.session;
    const { prompt } = await this.look(entry); // which opens the conversation first, as after a crash
    if (chosen !== this.session.chosen) return; // another one is shown by now
    this.restore(wordsOf(prompt));
    this.setEditing(entry);
  }

  stopEditing(): void {
    this.setEditing("");
  }

  /** Goes back before the edited message is sent. Returns false if the user does not want to send it after all. Throws once, if
   * its conversation could not be loaded again, as after a crash: it would be the first message of another one. */
  async beforeSending(): Promise<boolean> {
    const { editing } = this;
    if (editing === "" && this.edited === undefined) return true;
    if (editing === "") {
      this.setEditing("");
      throw new Error(l10n.t("The conversation of the message that you are editing could not be loaded again. Sent once more, your text begins a new conversation."));
    }
    const planned = await this.look(editing);
    const what = await whatToRestore(planned, false);
    const summary = what === undefined ? undefined : await summaryOf(planned, what);
    if (what === undefined || summary === undefined) return false;
    await this.go(editing, what, summary);
    this.setEditing("");
    return true;
  }

  /** To before a message, or to another place of the tree. */
  async rewind(entry: string): Promise<void> {
    const planned = await this.look(entry);
    const what = await whatToRestore(planned, true);
    const summary = what === undefined ? undefined : await summaryOf(planned, what);
    if (what === undefined || summary === undefined) return;
    const { prompt } = await this.go(entry, what, summary);
    if (prompt.length > 0 && what !== "files") this.restore(wordsOf(prompt));
  }

  async branch(entryId: string): Promise<void> {
    const { sessionId, prompt } = await this.session.ask<{ sessionId: string; prompt: PromptBlock[] }>("_north/sessions/branch", { entryId });
    await this.openCopy(sessionId, wordsOf(prompt));
  }

  private look(entryId: string): Promise<Rewound> {
    return this.session.ask<Rewound>(REWIND, { entryId, dryRun: true });
  }

  private async go(entryId: string, what: What, summary: Summary): Promise<Rewound> {
    const going = (token?: vscode.CancellationToken) => this.session.ask<Rewound>(REWIND, { entryId, what, ...summary }, token);
    let rewound = summary.summarize === true ? await whileSummarizing(going) : await going();
    const met = rewound.files.filter(({ outcome }) => outcome === "conflict");
    const conflicts: Conflicts | undefined = met.length === 0 ? "skip" : await decide(met.map(({ path }) => path));
    if (conflicts !== undefined && conflicts !== "skip") {
      const again = await this.session.ask<Rewound>(REWIND, { entryId, what: "files", conflicts });
      rewound = { ...rewound, files: [...rewound.files.filter((file) => !met.includes(file)), ...again.files] };
    }
    if (what !== "conversation") {
      tell(rewound);
      restored();
    }
    this.shown();
    return rewound;
  }

  private setEditing(entry: string): void {
    this.edited = entry === "" ? undefined : { entry, conversation: this.session.id, chosen: this.session.chosen };
    this.changed();
  }
}

/** Asks about files only where some would change. Undefined if the user gives up. */
async function whatToRestore({ files }: Outcome, mayBeFiles: boolean): Promise<What | undefined> {
  const changed = files.filter(({ outcome }) => outcome !== "unchanged");
  if (changed.length === 0) return "conversation";
  const answers = new Map<string, What>([
    [l10n.t("Conversation and Files"), "both"],
    [l10n.t("Conversation Only"), "conversation"],
  ]);
  if (mayBeFiles) answers.set(l10n.t("Files Only"), "files");
  const detail = `${l10n.t("North has changed these files since:")}\n${changed.map(({ path }) => path).join("\n")}`;
  const question = l10n.t("Restore the files as they were, too?");
  const chosen = await showWarning(question, { modal: true, detail }, ...answers.keys());
  return chosen === undefined ? undefined : answers.get(chosen);
}

/** A message as it was written: its text, and what was attached to it. */
export function wordsOf(blocks: readonly PromptBlock[]): PromptContent {
  const text = blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n\n");
  const attachments = blocks.filter((block) => block.type !== "text").map((block): Attachment => ({ label: labelOf(block), block }));
  return { text, attachments };
}

function labelOf(block: PromptBlock): string {
  switch (block.type) {
    case "resource_link": {
      const lines = /#L(\d+)-L(\d+)$/.exec(block.uri);
      return lines === null ? block.name : `${block.name}:${lines[1]}-${lines[2]}`;
    }
    case "resource":
      return block.resource.uri;
    default:
      return l10n.t("Picture");
  }
}
