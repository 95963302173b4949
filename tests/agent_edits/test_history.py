"""A history of hundreds of commits, made again with the edit tools: every file as in the commit's tree."""

import time
from pathlib import Path

import pytest

from tests.support.history import commits_of, make_history, replay


@pytest.mark.slow
async def test_every_commit_of_a_history_can_be_made_with_the_tools(tmp_path: Path) -> None:
    directory = tmp_path / "history.git"
    make_history(directory, 320, 11)
    assert len(commits_of(directory)) == 320
    started = time.perf_counter()
    done = await replay(directory, tmp_path / "world", 5)
    assert done.differing == []
    assert done.commits == 319
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
    assert time.perf_counter() - started < 120
