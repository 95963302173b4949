"""The tools that North ships."""

from north_lsp.tools.edit_create_file import EditCreateFile
from north_lsp.tools.edit_replace_exact import EditReplaceExact
from north_lsp.tools.list_root import ListRoot
from north_lsp.tools.read_file import ReadFile
from north_lsp.tools.registry import Registry
from north_lsp.tools.search_text import SearchText
from north_lsp.tools.shell_run import ShellRun


def builtin_tools() -> Registry:
    return Registry([ListRoot(), ReadFile(), SearchText(), EditReplaceExact(), EditCreateFile(), ShellRun()])
