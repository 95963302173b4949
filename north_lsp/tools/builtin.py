"""The tools that North ships."""

from north_lsp.storage.settings import EditVariant
from north_lsp.tools.drafting import EditTool
from north_lsp.tools.edit_after_anchor import EditAfterAnchor
from north_lsp.tools.edit_apply_batch import EditApplyBatch
from north_lsp.tools.edit_before_anchor import EditBeforeAnchor
from north_lsp.tools.edit_by_anchor import EditByAnchor
from north_lsp.tools.edit_create_file import EditCreateFile
from north_lsp.tools.edit_delete_file import EditDeleteFile
from north_lsp.tools.edit_insert_at_line import EditInsertAtLine
from north_lsp.tools.edit_move_file import EditMoveFile
from north_lsp.tools.edit_patch import EditPatch
from north_lsp.tools.edit_replace_block import EditReplaceBlock
from north_lsp.tools.edit_replace_exact import EditReplaceExact
from north_lsp.tools.list_root import ListRoot
from north_lsp.tools.read_file import ReadFile
from north_lsp.tools.registry import Registry
from north_lsp.tools.search_text import SearchText
from north_lsp.tools.shell_run import ShellRun
from north_lsp.tools.undo_edit import UndoEdit

_HIDDEN: dict[EditVariant, frozenset[str]] = {
    "anchors": frozenset({"edit_patch"}),
    "patch": frozenset({"edit_after_anchor", "edit_before_anchor", "edit_by_anchor", "edit_replace_block"}),
}


def builtin_tools(variant: EditVariant = "anchors") -> Registry:
    """`variant` says which edit tools are offered to models; those that are not can be called all the same."""
    return Registry([ListRoot(), ReadFile(), SearchText(), *edit_tools(), UndoEdit(), ShellRun()], _HIDDEN[variant])


def edit_tools() -> list[EditTool]:
    single: list[EditTool] = [
        EditReplaceExact(),
        EditInsertAtLine(),
        EditAfterAnchor(),
        EditBeforeAnchor(),
        EditReplaceBlock(),
        EditByAnchor(),
        EditCreateFile(),
        EditMoveFile(),
        EditDeleteFile(),
        EditPatch(),
    ]
    return [*single, EditApplyBatch({tool.name: tool for tool in single})]
