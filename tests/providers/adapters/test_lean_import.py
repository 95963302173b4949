"""SDKs are imported without the types and clients that North does not use, and are whole for whoever asks for more."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE

ANTHROPIC = """
import sys
import north_lsp.providers.adapters.anthropic
loaded = len([name for name in sys.modules if name.startswith("anthropic.")])
assert loaded < 120, loaded  # 2,900 with everything
assert not [name for name in sys.modules if name.startswith(("anthropic.resources.beta", "anthropic.lib.vertex"))]
import anthropic
from anthropic.types import Message, MessageParam
from anthropic.lib.streaming import MessageStream
assert anthropic.AsyncAnthropic(api_key="k").messages.create
import httpx2
from anthropic._base_client import make_status_error
refused = httpx2.Response(404, request=httpx2.Request("GET", "https://example.org"))
assert isinstance(make_status_error("gone", body=None, response=refused), anthropic.NotFoundError)
from anthropic.lib._tracing import get
assert get({"a": 1}, "a") == 1
assert anthropic.types.beta.BetaMessage.__name__ == "BetaMessage" and Message and MessageStream
assert not hasattr(anthropic.types, "NoSuchType")
"""
OPENAI = """
import sys
import north_lsp.providers.adapters.openai_responses
loaded = len([name for name in sys.modules if name.startswith("openai.")])
assert loaded < 150, loaded  # 550 with everything
import openai
assert openai.AsyncOpenAI(api_key="k").responses.create
assert openai.types.responses.Response.__name__ == "Response"
"""


@pytest.mark.parametrize("program", [ANTHROPIC, OPENAI], ids=["anthropic", "openai"])
def test_the_sdk_is_lean_at_first_and_whole_when_asked(program: str) -> None:
    subprocess.run([sys.executable, "-c", program], check=True, timeout=PATIENCE)


def _package(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / "vendor" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _run(folder: Path, program: str) -> None:
    whole = f"import sys\nsys.path.insert(0, {str(folder)!r})\n{program}"
    subprocess.run([sys.executable, "-c", whole], check=True, timeout=PATIENCE)


TYPES = """from __future__ import annotations

# Names of this vendor.
from . import deep as deep
from .one import One as One
from .two import (
    Two as Two,
    Second as Other,
)
"""


def test_names_are_found_where_their_package_says(tmp_path: Path) -> None:
    _package(
        tmp_path,
        {
            "__init__.py": "from . import types",
            "types/__init__.py": TYPES,
            "types/one.py": "One = 1",
            "types/two.py": "Two, Second = 2, 22",
            "types/deep/__init__.py": "from ..one import One as Uno",
        },
    )
    program = """
from north_lsp.providers.adapters.lean_import import import_lean
vendor = import_lean("vendor")
assert "vendor.types.one" not in sys.modules
assert (vendor.types.One, vendor.types.Two, vendor.types.Other, vendor.types.deep.Uno) == (1, 2, 22, 1)
assert import_lean("vendor") is vendor
"""
    _run(tmp_path, program)


def test_a_package_of_types_that_does_more_is_loaded_as_it_is(tmp_path: Path) -> None:
    _package(
        tmp_path,
        {
            "__init__.py": "from . import types",
            "types/__init__.py": "from .one import One as One\nOne.append(2)\n",
            "types/one.py": "One = [1]",
        },
    )
    _run(
        tmp_path,
        "from north_lsp.providers.adapters.lean_import import import_lean\n"
        "assert import_lean('vendor').types.One == [1, 2]",
    )


def test_what_is_left_out_works_when_it_is_called(tmp_path: Path) -> None:
    _package(
        tmp_path,
        {
            "__init__.py": "from .more import answer, Named\nfrom .other import *",
            "more.py": "def answer(*, plus):\n    return 41 + plus\nclass Named:\n    name = 'n'",
            "other.py": "raise RuntimeError",
        },
    )
    program = """
from north_lsp.providers.adapters.lean_import import import_lean
vendor = import_lean("vendor", ["more", "other"])
assert "vendor.more" not in sys.modules
assert (vendor.answer(plus=1), vendor.Named().name) == (42, "n")
assert vendor.more.answer(plus=2) == 43
"""
    _run(tmp_path, program)


def test_an_sdk_that_needs_what_is_left_out_is_loaded_whole(tmp_path: Path) -> None:
    _package(
        tmp_path,
        {
            "__init__.py": "from .more import Base\nclass Client(Base): pass",
            "more.py": "class Base:\n    answer = 42",
        },
    )
    _run(
        tmp_path,
        "from north_lsp.providers.adapters.lean_import import import_lean\n"
        "assert import_lean('vendor', ['more']).Client.answer == 42",
    )
