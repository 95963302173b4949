"""`north-lsp doctor --check-updates`: PyPI is asked for the newest version when the user wants it, and never else."""

import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from north_lsp import __version__
from north_lsp.cli.updates import updates
from tests.cli import test_command_line
from tests.end_to_end.world import SERVER
from tests.support.web_site import Page, Site

run = partial(test_command_line.run, program=SERVER)
PATH = "/pypi/north-lsp/json"


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as made:
        yield made


def says(version: object) -> Page:
    return Page(json.dumps({"info": {"version": version}, "releases": {}}), "application/json")


@pytest.mark.parametrize(
    ("page", "level", "words"),
    [
        (says("99.0"), "note", f"there is a newer North: 99.0, this one is {__version__}"),
        (says(f"{__version__}.1"), "note", "there is a newer North"),
        (says(__version__), "ok", f"there is no newer North than this one ({__version__})"),
        (says(f"{__version__}.0"), "ok", "there is no newer North"),
        (says(f"{__version__}rc1"), "ok", "there is no newer North"),
        (says("0.0.9"), "ok", "PyPI has 0.0.9"),
        (Page("nothing", status=404), "note", "PyPI has no version of North"),
        (Page("busy", status=503), "warning", "PyPI answered 503"),
        (Page("elsewhere", status=302, headers={"Location": "/other"}), "warning", "PyPI answered 302"),
        (Page("<html>"), "warning", "PyPI sent something other than a version"),
        (Page("[" * 100_000), "warning", "PyPI sent something other than a version"),
        (says(["1"]), "warning", "PyPI sent something other than a version"),
        (says("\x1b[31m1.0"), "warning", "PyPI sent something other than a version"),
        (says("9" * 5000), "warning", "PyPI sent something other than a version"),
    ],
)
def test_what_pypi_says_is_one_finding(site: Site, page: Page, level: str, words: str) -> None:
    site.pages[PATH] = page
    found = updates({}, site.url + PATH)
    assert (found.level, words in found.text) == (level, True), found
    assert [(one.method, one.path) for one in site.asked] == [("GET", PATH)]


def test_the_request_goes_through_the_proxy(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    address = "http://pypi.example" + PATH
    site.pages[address] = says("99.0")
    for name in ("NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTP_PROXY", site.url)
    assert "99.0" in updates({}, address).text
    assert [one.path for one in site.asked] == [address]


@pytest.mark.parametrize("address", ["http://127.0.0.1:1/x", "http://[", "ftp://127.0.0.1/x"])
def test_who_cannot_be_reached_is_one_line(address: str) -> None:
    found = updates({}, address)
    assert found.level == "warning"
    assert "North could not find out whether there is a newer version: PyPI cannot be reached (" in found.text
    assert "HTTPS_PROXY" in found.remedy


def test_pypi_is_asked_only_when_the_user_wants_it(tmp_path: Path) -> None:
    asked: list[str] = []

    class Proxy(BaseHTTPRequestHandler):
        def do_CONNECT(self) -> None:
            asked.append(self.path)
            self.send_error(502)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    proxy = HTTPServer(("127.0.0.1", 0), Proxy)
    serving = threading.Thread(target=proxy.serve_forever)
    serving.start()
    try:
        environ = {"https_proxy": f"http://127.0.0.1:{proxy.server_port}", "no_proxy": "", "NORTH_DISCOVERY": "off"}
        assert "newer North" not in run(tmp_path, "doctor", environ=environ).stdout
        assert asked == []
        done = run(tmp_path, "doctor", "--check-updates", environ=environ | {"NORTH_NO_NETWORK": "1"})
        assert "NORTH_NO_NETWORK is set: PyPI was not asked" in done.stdout
        assert asked == []
        done = run(tmp_path, "doctor", "--check-updates", environ=environ)
        assert asked == ["pypi.org:443"]
        assert "North could not find out whether there is a newer version: PyPI cannot be reached (" in done.stdout
    finally:
        proxy.shutdown()
        serving.join()
        proxy.server_close()
