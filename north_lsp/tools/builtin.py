"""The tools that North ships."""

from north_lsp.tools.ast_search import AstSearch
from north_lsp.tools.detect_languages import DetectLanguages
from north_lsp.tools.edit_create_file import EditCreateFile
from north_lsp.tools.edit_replace_exact import EditReplaceExact
from north_lsp.tools.expand_output import ExpandOutput
from north_lsp.tools.find_blocks import FindBlocks
from north_lsp.tools.find_code_block import FindCodeBlock
from north_lsp.tools.find_files import FindFiles
from north_lsp.tools.get_file_outline import GetFileOutline
from north_lsp.tools.get_file_symbols import GetFileSymbols
from north_lsp.tools.get_line_count import GetLineCount
from north_lsp.tools.hotfiles import Hotfiles
from north_lsp.tools.list_root import ListRoot
from north_lsp.tools.read_around import ReadAround
from north_lsp.tools.read_file import ReadFile
from north_lsp.tools.read_readme import ReadReadme
from north_lsp.tools.registry import Registry
from north_lsp.tools.search_text import SearchText
from north_lsp.tools.shell_run import ShellRun


def builtin_tools() -> Registry:
    looking = (ListRoot(), FindFiles(), SearchText(), ReadFile(), ReadAround(), GetLineCount(), ReadReadme())
    structure = (GetFileSymbols(), GetFileOutline(), FindCodeBlock(), FindBlocks(), AstSearch())
    project = (DetectLanguages(), Hotfiles(), ExpandOutput())
    return Registry([*looking, *structure, *project, EditReplaceExact(), EditCreateFile(), ShellRun()])
