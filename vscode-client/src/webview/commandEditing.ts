/** A command that is asked about can be changed before it runs: its text becomes an input. What runs is what that says. */

import { button, element } from "./elements";
import { t } from "./translations";

export class CommandEditing {
  private readonly input = element("textarea", "command-text") as HTMLTextAreaElement;
  private isOpen = false;

  constructor(
    private readonly command: string,
    /** The question; the command stands first in it. */
    private readonly body: HTMLElement,
  ) {
    this.input.value = command;
    this.input.spellcheck = false;
    this.input.setAttribute("aria-label", t("The command that runs"));
  }

  /** Whether the command was emptied: then nothing can run, and what was asked least of all. */
  get isBlank(): boolean {
    return this.isOpen && this.input.value.trim() === "";
  }

  /** What is to run instead of the command; undefined for what was asked, as long as nothing is changed. */
  get changed(): string | undefined {
    const { value } = this.input;
    return this.isOpen && value !== this.command ? value : undefined;
  }

  /** Opens the input, and closes it again with the command as it was. `lasting` is about that command alone; what else
   * is in `allowing` is disabled while there is no command. */
  button(lasting: HTMLElement, allowing: readonly HTMLButtonElement[]): HTMLButtonElement {
    const allow = (): void => {
      for (const one of allowing) if (one !== made) one.disabled = this.isBlank;
    };
    this.input.addEventListener("input", allow);
    const made = button(t("Edit…"), "secondary", () => {
      this.isOpen = !this.isOpen;
      const shown = this.body.querySelector<HTMLElement>(".code");
      if (this.isOpen) this.body.prepend(this.input);
      else this.input.remove();
      if (shown !== null) shown.hidden = this.isOpen;
      lasting.hidden = this.isOpen;
      made.textContent = this.isOpen ? t("Do Not Edit") : t("Edit…");
      if (!this.isOpen) this.input.value = this.command;
      allow();
      (this.isOpen ? this.input : made).focus();
    });
    return made;
  }
}
