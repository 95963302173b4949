/** What can be chosen, in the user's language: the server's names are English, and those that it always has are known here. */

import * as vscode from "vscode";

import type { PermissionOption } from "../acp";
import type { FormField } from "../forms";

export function inUsersLanguage(option: PermissionOption): PermissionOption {
  return { ...option, name: translated(option.name) };
}

/** A field of the server's own: what it has in every form is known here, too. */
export function withUsersLanguage(field: FormField): FormField {
  return { ...field, title: translated(field.title), detail: translated(field.detail) };
}

function translated(name: string): string {
  const { t } = vscode.l10n;
  switch (name) {
    case "Accept":
      return t("Accept");
    case "Accept this and all later edits in this project":
      return t("Accept this and all later edits in this project");
    case "Reject":
      return t("Reject");
    case "Run":
      return t("Run");
    case "Run in the terminal":
      return t("Run in the terminal");
    case "Always run this command":
      return t("Always run this command");
    case "Always run commands like this":
      return t("Always run commands like this");
    case "Always run this tool in this project":
      return t("Always run this tool in this project");
    case "Fetch":
      return t("Fetch");
    case "Always fetch from this host in this project":
      return t("Always fetch from this host in this project");
    case "Run every command without asking":
      return t("Run every command without asking");
    case "Deny":
      return t("Deny");
    case "Approve and execute":
      return t("Approve and execute");
    case "Approve and compact the context, then execute":
      return t("Approve and compact the context, then execute");
    case "Approve, and stop here":
      return t("Approve, and stop here");
    case "Edit the plan":
      return t("Edit the plan");
    case "Leave plan mode":
      return t("Leave plan mode");
    case "Other (type your own)":
      return t("Other (type your own)");
    case "Replaces the choice above.":
      return t("Replaces the choice above.");
    default:
      return name;
  }
}
