"""A history of hundreds of commits, made again with the edit tools: every file as in the commit's tree."""

import os
import tempfile
from pathlib import Path

import pytest

from tests.support.history import commits_of, make_history, replay

MEMORY = Path("/dev/shm")
"""Files in memory are as good, only faster."""


@pytest.mark.slow
async def test_every_commit_of_a_history_can_be_made_with_the_tools() -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as folder:
        directory = Path(folder, "history.git")
        make_history(directory, 305, 11)
        assert len(commits_of(directory)) == 305
        done = await replay(directory, Path(folder, "world"), 5)
    assert done.differing == []
    assert done.commits == 304
    assert done.files > 500
    for tool in (
        "edit_replace_exact",
        "edit_insert_at_line",
        "edit_after_anchor",
        "edit_before_anchor",
        "edit_replace_block",
        "edit_by_anchor",
        "edit_create_file",
        "edit_move_file",
        "edit_delete_file",
        "edit_patch",
        "edit_apply_batch",
    ):
        assert done.calls[tool] >= 5, tool
