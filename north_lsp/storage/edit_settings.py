"""The settings of edit tools."""

from typing import Literal

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.setting import setting

Tolerance = Literal["none", "whitespace"]
StaleCheck = Literal["strict", "warn", "off"]
EditVariant = Literal["anchors", "patch"]


@dataclass(frozen=True)
class EditSettings:
    """How edit tools behave."""

    tolerance: Tolerance = setting(
        "edits.tolerance",
        "none",
        "With `whitespace`, a text that is not found exactly may match one place that differs in indentation or in "
        "whitespace at line ends.",
        strict="none",
        project="stricter",
    )
    stale_check: StaleCheck = setting(
        "edits.staleCheck",
        "warn",
        "What happens when the model edits a file whose current text it has not seen: nothing (`off`); the result "
        "says so, and edits by line number or of whole files are refused (`warn`); every edit is refused (`strict`).",
        strict="strict",
        project="stricter",
    )
    variant: EditVariant = setting(
        "edits.variant",
        "anchors",
        "With `patch`, models get one tool that takes patches instead of the tools that work with anchors.",
        restart=True,
    )
    allow_generated: tuple[str, ...] = setting(
        "edits.allowGenerated", (), "Wildcards of generated files that may be edited."
    )
    protected: tuple[str, ...] = setting(
        "edits.protected", (), "Wildcards of further files that no tool writes.", strict=("**",), project="stricter"
    )
    shell_checkpoints: bool = setting(
        "checkpoints.shell", False, "Let undo also cover what commands change.", strict=True, project="stricter"
    )
    save_after_apply: bool = setting(
        "edits.saveAfterApply",
        True,
        "Have the editor save files that were saved before an edit, if it supports that.",
        strict=False,
        project="stricter",
    )
    confirm_in_editor: bool = setting(
        "edits.confirmInEditor",
        False,
        "Have the editor itself ask about edits of open files, if it supports LSP's changes that it has you confirm "
        "(plain LSP clients only).",
    )
    language_servers: bool = setting(
        "lsp.enabled",
        True,
        "Ask the editor's language servers, if it lets them be asked: the tools `lsp`, `edit_rename_symbol` and "
        "`edit_format_file`, problems after edits, `@symbol` and `@problems`.",
        strict=False,
        restart=True,
    )
    diagnostics_on_write: bool = setting(
        "lsp.diagnosticsOnWrite",
        True,
        "Tell the model which errors and warnings an edit made, if the editor lets its language servers be asked.",
        project="yes",
    )
