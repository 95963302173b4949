/** Why there is no server, and what to do, for the user to read. */

import * as vscode from "vscode";

import { Problem, remedy } from "../common/problems";
import type { Choice } from "./choice";
import type { StepFailed } from "./steps";
import type { NoTool } from "./tools";

const SERVER_PATH = "north.server.path";
const PYTHON = "north.server.python";

export function problemOfChoice(choice: Exclude<Choice, { kind: "start" | "install" }>): Problem {
  const changeSetting = [remedy("north.openSetting"), remedy("north.showLog"), remedy("north.restartServer")];
  switch (choice.kind) {
    case "noProgram":
      return new Problem(vscode.l10n.t("The setting {0} does not point to a program: {1}", SERVER_PATH, choice.path), changeSetting);
    case "notInWorkspace":
      return new Problem(
        vscode.l10n.t("The setting north.server.source asks for the server in the workspace, and there is none at {0}.", choice.places.join(", ")),
        changeSetting,
      );
    case "notOnPath":
      return choice.inFolder === undefined
        ? new Problem(
            vscode.l10n.t("North's server north-lsp was not found on PATH. Install it, or name it in the setting {0}.", SERVER_PATH),
            changeSetting,
          )
        : new Problem(
            vscode.l10n.t(
              "North's server north-lsp is not on PATH. There is one in the open folder, which is not started unless you say so, since it comes from the author of the folder: set north.server.source to workspace. It is {0}.",
              choice.inFolder,
            ),
            changeSetting,
          );
  }
}

export function problemOfTools(none: NoTool): Problem {
  const ways = [remedy("north.installServer"), remedy("north.choosePython"), remedy("north.showLog")];
  return new Problem(messageForTools(none), ways);
}

function messageForTools(none: NoTool): string {
  switch (none.kind) {
    case "missing":
      return vscode.l10n.t(
        "North's server needs Python 3.11 or newer, and none was found. Install Python (python.org, or your system's packages) or uv, or name a Python in the setting {0}. Then install again.",
        PYTHON,
      );
    case "tooOld":
      return vscode.l10n.t(
        "North's server needs Python 3.11 or newer; {0} is {1}. Install a newer one, or uv, which includes one, or name one in the setting {2}. Then install again.",
        none.program,
        none.version,
        PYTHON,
      );
    case "noVenv":
      return vscode.l10n.t(
        "{0} ({1}) cannot make virtual environments. On Debian and Ubuntu run: sudo apt install python3-venv. Elsewhere install Python with venv and ensurepip. Then install again.",
        none.program,
        none.version,
      );
    case "noPython":
      return vscode.l10n.t("The setting {0} does not name a Python: {1}", PYTHON, none.program);
  }
}

export function problemOfStep(failed: StepFailed): Problem {
  const ways = [remedy("north.installServer"), remedy("north.showLog"), remedy("north.choosePython")];
  return new Problem(messageForStep(failed), ways);
}

function messageForStep({ step, why, detail }: StepFailed): string {
  switch (why) {
    case "network":
      return vscode.l10n.t(
        "North's server could not be installed: the package index cannot be reached. Check the network, the proxy (HTTPS_PROXY), and the index that pip uses (pip config list) or uv (UV_INDEX_URL). The message was: {0}",
        detail,
      );
    case "certificate":
      return vscode.l10n.t(
        "North's server could not be installed: the package index's certificate is not accepted. Name your company's certificates in PIP_CERT and SSL_CERT_FILE. The message was: {0}",
        detail,
      );
    case "package":
      return vscode.l10n.t(
        "North's server could not be installed: your package index does not have {0} in a version that is needed, or did not answer. Check the network and the index; it has to mirror PyPI.",
        detail,
      );
    case "build":
      return vscode.l10n.t(
        "North's server could not be installed: there is no ready-made {0} for this machine, and it could not be compiled. Another version of Python may have one: install it and name it in the setting {1}.",
        detail,
        PYTHON,
      );
    case "disk":
      return vscode.l10n.t("North's server could not be installed: the disk is full. It needs about 200 MB in VS Code's storage.");
    case "permission":
      return vscode.l10n.t("North's server could not be installed: VS Code's storage cannot be written. The message was: {0}", detail);
    case "venv":
      return vscode.l10n.t(
        "North's server could not be installed: this Python cannot make virtual environments. On Debian and Ubuntu run: sudo apt install python3-venv. Then install again.",
      );
    case "other":
      return step === "check"
        ? vscode.l10n.t("North's server was installed and does not start. The message was: {0}", detail)
        : vscode.l10n.t("North's server could not be installed. The log has everything. The last message was: {0}", detail);
  }
}

export function cancelled(): Problem {
  return new Problem(
    vscode.l10n.t("North's server is not installed: you cancelled it. Its Python packages come from your package index into a private environment."),
    [remedy("north.installServer"), remedy("north.openSetting")],
    true,
  );
}
