"""Workspaces without a session around them."""

from pathlib import Path

from north_lsp.workspace.files.trees import Trees
from north_lsp.workspace.paths import Roots
from north_lsp.workspace.workspace import Addresses, NoneUnsaved, ToolSettings, UnsavedTexts, Workspace


def make_workspace(
    root: Path | Roots,
    editor: UnsavedTexts | None = None,
    *,
    private: tuple[Path, ...] = (),
    settings: ToolSettings | None = None,
    addresses: Addresses | None = None,
) -> Workspace:
    """Make the workspace of a folder, whose files are open in no editor unless one is given."""
    roots = root if isinstance(root, Roots) else Roots.of(root)
    return Workspace(
        Trees.of(roots, private),
        NoneUnsaved() if editor is None else editor,
        settings=ToolSettings() if settings is None else settings,
        addresses=Addresses() if addresses is None else addresses,
    )
