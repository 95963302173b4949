"""One session that lives through everything: what one command broke, no later one may suffer from."""

from pathlib import Path

import anyio
import pytest

from tests.shell.test_runner import HOSTILE, run, runner
from tests.support.patience import PATIENCE

MORE = Path(__file__).with_name("hostile.txt").read_text("utf-8").splitlines()
_CHUNKS = 6


def test_there_are_enough_of_them() -> None:
    assert len({*MORE} - {case[0] for case in HOSTILE}) == len(MORE) >= 120
    assert len(MORE) + len(HOSTILE) >= 200


@pytest.mark.parametrize("chunk", range(_CHUNKS))
async def test_the_session_goes_on_whatever_ran_before(tmp_path: Path, chunk: int) -> None:
    async with runner(tmp_path) as shell:
        for command in MORE[chunk::_CHUNKS]:
            with anyio.fail_after(PATIENCE):
                await run(shell, command, tmp_path, seconds=0.3)
                after = await run(shell, "\\echo alive; (exit 3)", tmp_path)
            assert after.output.text.endswith("alive\n"), (command, after)
            assert after.exit_code == 3, (command, after)
        await run(shell, "exit 0")
        assert (await run(shell, "echo end")).output.text == "end\n"
