"""The tools that North ships, all imported: what `shipped.json` is made from. A server uses `shipped.py`."""

from __future__ import annotations

from north_lsp.storage.edit_settings import EditVariant
from north_lsp.tools.calculate.calc import Calc
from north_lsp.tools.code.ast_search import AstSearch
from north_lsp.tools.code.find_blocks import FindBlocks
from north_lsp.tools.code.find_code_block import FindCodeBlock
from north_lsp.tools.code.get_file_outline import GetFileOutline
from north_lsp.tools.code.get_file_symbols import GetFileSymbols
from north_lsp.tools.code.lsp import Lsp
from north_lsp.tools.edit.drafting import EditTool
from north_lsp.tools.edit.edit_after_anchor import EditAfterAnchor
from north_lsp.tools.edit.edit_apply_batch import EditApplyBatch
from north_lsp.tools.edit.edit_before_anchor import EditBeforeAnchor
from north_lsp.tools.edit.edit_by_anchor import EditByAnchor
from north_lsp.tools.edit.edit_create_file import EditCreateFile
from north_lsp.tools.edit.edit_delete_file import EditDeleteFile
from north_lsp.tools.edit.edit_format_file import EditFormatFile
from north_lsp.tools.edit.edit_insert_at_line import EditInsertAtLine
from north_lsp.tools.edit.edit_move_file import EditMoveFile
from north_lsp.tools.edit.edit_patch import EditPatch
from north_lsp.tools.edit.edit_rename_symbol import EditRenameSymbol
from north_lsp.tools.edit.edit_replace_block import EditReplaceBlock
from north_lsp.tools.edit.edit_replace_exact import EditReplaceExact
from north_lsp.tools.edit.undo_edit import UndoEdit
from north_lsp.tools.memory.remember import Remember
from north_lsp.tools.plan.ask import Ask
from north_lsp.tools.plan.enter_plan_mode import EnterPlanMode
from north_lsp.tools.plan.exit_plan_mode import ExitPlanMode
from north_lsp.tools.plan.goal import GoalTool
from north_lsp.tools.plan.todo import Todo
from north_lsp.tools.plan.workflow import WorkflowTool
from north_lsp.tools.plan.write_plan import WritePlan
from north_lsp.tools.read.detect_languages import DetectLanguages
from north_lsp.tools.read.expand_output import ExpandOutput
from north_lsp.tools.read.find_files import FindFiles
from north_lsp.tools.read.get_line_count import GetLineCount
from north_lsp.tools.read.hotfiles import Hotfiles
from north_lsp.tools.read.list_root import ListRoot
from north_lsp.tools.read.read_around import ReadAround
from north_lsp.tools.read.read_file import ReadFile
from north_lsp.tools.read.read_readme import ReadReadme
from north_lsp.tools.read.search_text import SearchText
from north_lsp.tools.registry import Registry
from north_lsp.tools.shell.job import JobControl
from north_lsp.tools.shell.shell_run import ShellRun
from north_lsp.tools.shipped import HIDDEN
from north_lsp.tools.web.web_fetch import WebFetch
from north_lsp.tools.web.web_search import WebSearch


def builtin_tools(variant: EditVariant = "anchors") -> Registry:
    """Build the registry. `variant` says which edit tools are offered to models; the others can still be called."""
    looking = (ListRoot(), FindFiles(), SearchText(), ReadFile(), ReadAround(), GetLineCount(), ReadReadme())
    structure = (GetFileSymbols(), GetFileOutline(), FindCodeBlock(), FindBlocks(), AstSearch(), Lsp())
    project = (DetectLanguages(), Hotfiles(), ExpandOutput())
    edits = (*edit_tools(), EditRenameSymbol(), EditFormatFile(), UndoEdit())
    others = (ShellRun(), JobControl(), Remember(), Todo(), Ask(), WritePlan(), ExitPlanMode())
    work = (GoalTool(), WorkflowTool(), EnterPlanMode())
    web = (WebFetch(), WebSearch(), Calc())
    return Registry([*looking, *structure, *project, *edits, *others, *work, *web], HIDDEN[variant])


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
