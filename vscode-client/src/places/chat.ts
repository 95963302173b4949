/** What the places of the editor ask of the chat. */

import type { Attachment } from "../composer/chips";

export interface Chat {
  /** Beside the message that the user writes next; shows the chat. */
  attach(attachment: Attachment): Promise<void>;
  /** Attaches what is selected in the editor, else its file. */
  attachShown(): Promise<void>;
  /** Sends a message in the conversation that is open. */
  ask(text: string, attachments: Attachment[]): Promise<void>;
  /** The same, for what is to end in an edit: the mode has to allow one. */
  edit(text: string, attachments: Attachment[]): Promise<void>;
}
