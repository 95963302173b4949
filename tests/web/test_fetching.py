"""A name leads where it was looked up, once: what was checked is what is asked, also through redirects and proxies."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import cast

import pytest

from north_lsp.agent.approvals.record import ReviewRecord
from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.ports.events import CallEnded
from north_lsp.agent.ports.results import Result
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.ports.turn_context import TurnContext
from north_lsp.agent.web.approve import HostApprover, HostQuestion
from north_lsp.agent.web.fetching import WebAccess
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import ToolCall
from north_lsp.tools.base import Output
from north_lsp.tools.web_requests import FetchRequest
from north_lsp.web.client import WebClient
from tests.support.certificate import make_bundle, server_context
from tests.support.web_site import Page, Site

DENIED = Result("denied", False, CallEnded("1", "", False, "denied"))


pytestmark = pytest.mark.usefixtures("without_proxies")


@pytest.fixture
def site(site: Site) -> Site:
    site.pages["/"] = Page("found", "text/plain")
    return site


@dataclass(frozen=True)
class Answering(HostApprover):
    """Allows what is public, and what leads to the `inside` addresses; keeps what was asked."""

    inside: frozenset[str] = frozenset()
    asked: list[HostQuestion] = field(default_factory=list)

    async def permit(self, call: ToolCall, title: str, question: HostQuestion) -> Result | None:
        self.asked.append(question)
        return None if question.addresses <= self.inside else DENIED


class Silent:
    async def show(self, event: object) -> None:
        pass


@dataclass
class Names:
    """Resolves names: each look-up of one gives the next of its answers, the last one for ever."""

    answers: dict[str, list[Sequence[str]]]
    looked_up: list[str] = field(default_factory=list)

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        self.looked_up.append(host)
        rows = self.answers[host]
        return rows.pop(0) if len(rows) > 1 else rows[0]


def approving(*inside: str) -> Answering:
    return Answering(cast(ReviewRecord, None), lambda _: False, cast(Editor, None), frozenset(inside))


def access(names: Names, approver: Answering, **environ: str) -> WebAccess:
    return WebAccess(approver, WebClient(environ, names.resolve), None, cast(Ports, Silent()))


async def fetch(web: WebAccess, url: str) -> Output | Result:
    call = ToolCall("1", "web_fetch", {"url": url})
    return await web.fetch(cast(TurnContext, None), call, "Fetching", FetchRequest(url))


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"], ["10.0.0.1"], ["169.254.169.254"], ["fd00:ec2::254"], ["::ffff:127.0.0.1"], ["100.100.100.200"],
        ["0.0.0.0"], ["93.184.216.34", "127.0.0.1"], ["fe80::1%lo"],
    ],
)  # fmt: skip
async def test_a_name_that_leads_inside_is_not_asked(site: Site, addresses: list[str]) -> None:
    approver = approving()
    web = access(Names({"site.test": [addresses]}), approver)
    assert await fetch(web, f"http://site.test:{site.port}/") is DENIED
    assert [bool(question.place) for question in approver.asked] == [False, True]
    assert site.asked == []


async def test_a_name_is_looked_up_once_and_only_after_the_user_said_so(site: Site) -> None:
    names = Names({"site.test": [["127.0.0.1"], ["127.0.0.2"]]})
    output = await fetch(access(names, approving("127.0.0.1")), f"http://site.test:{site.port}/")
    assert isinstance(output, Output)
    assert names.looked_up == ["site.test"]
    assert [asked.headers["host"] for asked in site.asked] == [f"site.test:{site.port}"]


@dataclass(frozen=True)
class Refusing(Answering):
    async def permit(self, call: ToolCall, title: str, question: HostQuestion) -> Result | None:
        return DENIED


async def test_a_name_that_is_denied_is_not_even_looked_up() -> None:
    names = Names({"data.attacker.test": [["127.0.0.1"]]})
    refusing = Refusing(cast(ReviewRecord, None), lambda _: False, cast(Editor, None))
    assert await fetch(access(names, refusing), "https://data.attacker.test/") is DENIED
    assert names.looked_up == []


async def test_a_name_that_leads_elsewhere_the_second_time_is_asked_about_again(site: Site) -> None:
    names = Names({"site.test": [["127.0.0.1"], ["169.254.169.254"]]})
    site.pages["/a"] = Page(status=302, headers={"location": f"http://site.test:{site.port}/"})
    approver = approving("127.0.0.1")
    assert await fetch(access(names, approver), f"http://site.test:{site.port}/a") is DENIED
    assert [asked.path for asked in site.asked] == ["/a"]
    assert approver.asked[-1].addresses == {"169.254.169.254"}


async def test_the_first_address_that_can_be_reached_is_taken(site: Site) -> None:
    names = Names({"site.test": [["127.0.0.2", "127.0.0.1"]]})
    output = await fetch(access(names, approving("127.0.0.1", "127.0.0.2")), f"http://site.test:{site.port}/")
    assert isinstance(output, Output)


async def test_a_certificate_is_for_the_name_not_for_the_address(tmp_path: Path) -> None:
    with Site(server_context(tmp_path)) as secure:
        names = Names({"site.test": [["127.0.0.1"]]})
        web = access(names, approving("127.0.0.1"), NORTH_CA_BUNDLE=str(make_bundle(tmp_path)))
        with pytest.raises(ToolError) as caught:
            await fetch(web, f"https://site.test:{secure.port}/")
        assert "site.test" in caught.value.message
        assert secure.asked == []


async def test_a_redirect_from_https_to_http_is_asked_about_again(site: Site, tmp_path: Path) -> None:
    with Site(server_context(tmp_path)) as secure:
        site.pages["/a"] = Page(status=302, headers={"location": f"{secure.url}/b"})
        secure.pages["/b"] = Page(status=302, headers={"location": f"{site.url}/"})
        approver = approving("127.0.0.1")
        web = access(Names({}), approver, NORTH_CA_BUNDLE=str(make_bundle(tmp_path)))
        assert isinstance(await fetch(web, f"{site.url}/a"), Output)
        asked = [(question.target.scheme, question.is_downgrade) for question in approver.asked]
    assert asked == [("http", False), ("https", False), ("http", True)]


async def test_a_name_without_an_address_is_an_error() -> None:
    with pytest.raises(ToolError) as caught:
        await fetch(access(Names({"site.test": [[]]}), approving()), "https://site.test/")
    assert "has no address" in caught.value.message


async def test_a_proxy_is_used_and_named(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", site.url)
    monkeypatch.setenv("no_proxy", "direct.test")
    site.pages["http://site.test/a"] = Page("by proxy", "text/plain")
    names = Names({"direct.test": [["127.0.0.1"]]})
    approver = approving("127.0.0.1")
    web = access(names, approver)
    output = await fetch(web, "http://site.test/a")
    assert isinstance(output, Output)
    assert site.asked[0].path == "http://site.test/a"
    assert approver.asked[0].proxy == "127.0.0.1"
    assert names.looked_up == []
    await fetch(web, f"http://direct.test:{site.port}/")
    assert site.asked[-1].path == "/"


async def test_an_address_inside_is_asked_about_also_with_a_proxy(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", site.url)
    assert await fetch(access(Names({}), approving()), "http://2852039166/latest/meta-data/") is DENIED
    assert site.asked == []


async def test_an_api_is_asked_once_the_site_is_allowed(site: Site) -> None:
    site.pages["/repos/a/wings"] = Page('{"full_name": "a/wings"}', "application/json")
    names, approver = Names({"github.com": [["93.184.216.34"]]}), approving()
    client = WebClient({}, names.resolve)
    web = WebAccess(approver, client, None, cast(Ports, Silent()), {"https://api.github.com": site.url})
    output = await fetch(web, "https://github.com/a/wings")
    assert isinstance(output, Output)
    assert "# a/wings" in str(output.data)
    assert [question.target.host for question in approver.asked] == ["github.com"]


async def test_no_api_is_asked_for_a_site_that_leads_inside(site: Site) -> None:
    names = Names({"github.com": [["127.0.0.1"]]})
    web = WebAccess(
        approving(), WebClient({}, names.resolve), None, cast(Ports, Silent()), {"https://api.github.com": site.url}
    )
    assert await fetch(web, f"http://github.com:{site.port}/a/wings") is DENIED
    assert site.asked == []


INSIDE = [
    "http://127.1/",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b:1::a9fe:a9fe]/",
    "http://[2002:7f00:1::]/",
    "http://[fd00:ec2::254]/latest/meta-data/",
    "http://169.254.169.254/latest/meta-data/",
    "http://2852039166/",
    "//169.254.169.254/",
    "http:\t//169.254.169.254/",
    "http://inside.test/",
    "HTTP://INSIDE.TEST./",
]


@pytest.mark.parametrize("location", INSIDE)
async def test_a_redirect_inside_is_asked_about_however_it_is_spelled(site: Site, location: str) -> None:
    site.pages["/a"] = Page(status=302, headers={"location": location})
    approver = approving("127.0.0.1")
    web = access(Names({"site.test": [["127.0.0.1"]], "inside.test": [["10.0.0.1"]]}), approver)
    with suppress(ToolError):  # nobody answers there
        await fetch(web, f"http://site.test:{site.port}/a")
    assert [asked.path for asked in site.asked] == ["/a"]
    assert approver.asked[-1].source
    assert approver.asked[-1].place


@pytest.mark.parametrize(
    "location",
    [
        "file:///etc/passwd",
        "gopher://127.0.0.1/",
        "http://0177.0.0.1/",
        "http://user:word@127.0.0.1/",
        "http://127.0.0.256/",
        "http://[::1%25lo]/",
    ],
)
async def test_a_redirect_to_what_is_no_address_ends_there(site: Site, location: str) -> None:
    site.pages["/a"] = Page(status=302, headers={"location": location})
    with pytest.raises(ToolError):
        await fetch(
            access(Names({"site.test": [["127.0.0.1"]]}), approving("127.0.0.1")), f"http://site.test:{site.port}/a"
        )
    assert [asked.path for asked in site.asked] == ["/a"]
