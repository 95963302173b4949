"""Fixtures that several rooms share."""

import gc
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.end_to_end.world import WARM, WARM_SERVER, WARM_SOCKET, World, make_world
from tests.support.guard import environment, take_refusals
from tests.support.guard.path import sitecustomize as _here  # noqa: F401 - in this process too
from tests.support.hanging import Ending, watched
from tests.support.model_server import ModelServer
from tests.support.web_site import Site

# Servers that tests start should find their modules compiled, whatever the shell that runs the tests has set.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Whatever a test starts is held to the vendors' rules, and records here what they would have refused.
REFUSED = Path(tempfile.gettempdir()) / f"north-tests-{os.getpid()}.refused"
os.environ |= environment(REFUSED)

# Processes that pytest-xdist starts use the warm server of this one.
os.environ[WARM] = str(WARM_SOCKET)

# The machine's speed says nothing about the code: on a busy one, examples may take as long as they need. The suite
# runs the same examples every time; `just fuzz` searches for new ones, and what it finds is written into the test.
settings.register_profile(
    "fixed", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("random", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile(os.environ.get("NORTH_TEST_EXAMPLES", "fixed"))


ON_WINDOWS = ("systems/", "workspace/edit/", "workspace/structure/", "test_display", "test_lazy_dataclass", "test_uris")
"""Tests that only need North and Python. The others start servers and shells or make links and pipes as Linux and macOS
have them: on Windows they are left out by folder, and `tests.support.try_windows` takes their place."""


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out on Windows what is for Linux and macOS."""
    if sys.platform != "win32" or collection_path.suffix != ".py":
        return None
    inside = collection_path.relative_to(Path(__file__).parent).as_posix()
    return None if inside.startswith(ON_WINDOWS) else True


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """Run two processes on each core: a quarter of the time, tests wait, for a server's timer, a disk or a process that
    ends, and that core has nothing to do otherwise."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return 2 * cores


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the collector of garbage from what is imported and collected here. It stays until the end, and looking
    through it took a third of the time until the first test. What tests make is looked through less often than Python
    does by itself, which took a twelfth of their time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        gc.set_threshold(10_000, 10, 10)


_ENDING = pytest.StashKey[Ending]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("hanging_seconds", "after which the process of a test that hangs is ended; 0 for never", default="0")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_ENDING] = Ending(float(config.getini("hanging_seconds")))


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[_ENDING].close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    item.config.stash[_ENDING].test_begins()
    with watched(item):
        return (yield)


def pytest_exception_interact(node: pytest.Item | pytest.Collector) -> None:
    node.config.stash[_ENDING].was_called_off()


def pytest_enter_pdb(config: pytest.Config) -> None:
    config.stash[_ENDING].was_called_off()


@contextmanager
def warm_server() -> Iterator[None]:
    """Run the process that serves `SERVER`. It takes seconds to start; who asks it earlier waits, and nobody else."""
    WARM_SOCKET.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(WARM_SOCKET))
        listener.listen(64)
        command = [sys.executable, str(WARM_SERVER), str(listener.fileno())]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[listener.fileno()])
    try:
        yield
    finally:
        process.terminate()
        process.communicate()
        WARM_SOCKET.unlink(missing_ok=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """Run the warm server while tests run, one for all processes of pytest-xdist."""
    if hasattr(session.config, "workerinput") or sys.platform == "win32":
        return (yield)
    with warm_server():
        return (yield)


@pytest.fixture
def without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reach every address directly, whatever the environment says."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        yield site


@pytest.fixture(autouse=True)
def held_to_the_rules() -> Iterator[Path]:
    """Fail the test for anything a vendor would have refused, unless the test has taken it (`take_refusals`)."""
    yield REFUSED
    refused = take_refusals(REFUSED)
    assert not refused, f"what no test may do was tried: {refused}"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def world(tmp_path: Path, server: ModelServer) -> World:
    """Return a real project that uses the scripted model, served in Anthropic's real format."""
    return make_world(tmp_path / "world", server.url)
