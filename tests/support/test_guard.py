"""No process that a test starts changes files of whoever runs the tests."""

import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.guard import take_refusals

HOME = Path(pwd.getpwuid(os.getuid()).pw_dir)


@pytest.mark.parametrize(
    "code",
    [
        "open(path, 'w')",
        "os.open(path, os.O_RDWR | os.O_CREAT)",
        "os.mkdir(path)",
        "open('here', 'w').close(); os.rename('here', path)",
        "import sqlite3; sqlite3.connect(path)",
        "os.chdir(os.path.dirname(path)); open(os.path.basename(path), 'a')",
    ],
)
def test_a_change_in_the_users_home_is_refused_and_fails_the_test(
    tmp_path: Path, held_to_the_rules: Path, code: str
) -> None:
    path = HOME / ".north-tests-must-not"
    done = subprocess.run(
        [sys.executable, "-c", f"import os, sys; path = sys.argv[1]; {code}", str(path)],
        cwd=tmp_path,
        env=os.environ | {"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert not path.exists()
    assert "tests change nothing of the user's own" in done.stderr
    assert take_refusals(held_to_the_rules) == [f"a test changes {str(path)!r} of the user's own files"]


def test_what_tests_make_and_what_they_read_is_free(tmp_path: Path) -> None:
    code = "import os, sys; os.listdir(sys.argv[1]); open('here', 'w').close(); os.rename('here', 'there')"
    subprocess.run([sys.executable, "-c", code, str(HOME)], cwd=tmp_path, check=True)
