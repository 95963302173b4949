"""Addresses and names that hostile models and pages try: none of them reaches what the user was not asked about."""

from collections.abc import Sequence
from contextlib import suppress
from typing import cast

import pytest

from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.web.fetching import WebAccess
from north_lsp.errors import ToolError
from north_lsp.tools.base import Output
from north_lsp.web.addresses import not_public, target
from north_lsp.web.client import WebClient
from tests.support.web_site import Page, Site
from tests.web.test_fetching import DENIED, Names, Silent, access, approving, fetch

pytestmark = pytest.mark.usefixtures("without_proxies")
OUTSIDE = "93.184.216.34"

LITERALS = [
    "http://[::127.0.0.1]:{port}/", "http://[::ffff:0:127.0.0.1]:{port}/", "http://[0:0:0:0:0:ffff:7f00:0001]:{port}/",
    "http://[2001:0:7f00:1::f0f0:f0f0]:{port}/", "http://[64:ff9b:1:7f00:1::]:{port}/", "http://[64:ff9b::a9fe:a9fe]/",
    "http://[2002:a9fe:a9fe::1]/", "http://[fe80::a9fe:a9fe]/", "http://0177.1:{port}/", "http://0x7f.1:{port}/",
    "http://0X7F000001:{port}/", "http://127.0x1:{port}/", "http://00000177.0.0.1:{port}/",
    "http://127.000.000.001:{port}/", "http://2130706433.:{port}/", "http://4294967295/",
    "http://①②⑦.⓪.⓪.①:{port}/", "http://127｡0｡0｡1:{port}/", "http://１６９.254.169.254/", "http:127.0.0.1:{port}/",
    "http:///127.0.0.1:{port}/", "HTTP://0:{port}/", "http://[::]:{port}/", "http://[::ffff:a9fe:a9fe]/",
    "http://0xA9FEA9FE/", "http://0251.0376.0251.0376/", "http://169.16689662/", "http://[::FFFF:169.254.169.254]/",
]  # fmt: skip
NOT_WEB = [
    "file:///etc/passwd", "FILE://localhost/etc/passwd", "gopher://127.0.0.1:6379/_FLUSHALL", "dict://127.0.0.1:11211/",
    "ftp://127.0.0.1/", "ldap://127.0.0.1/", "data:text/html,hello", "blob:http://127.0.0.1/x",
    "view-source:http://127.0.0.1/", "jar:http://127.0.0.1!/", "http+unix://%2Fvar%2Frun%2Fdocker.sock/info",
    "ws://127.0.0.1/", "netdoc:///etc/passwd", "http://127.0.0.1:0/", "http://127.0.0.1:80 @example.com/",
    "http://example.com:80@127.0.0.1/", "http://example.com\t@127.0.0.1/",
    "http://example.com%2f@127.0.0.1/", "http://127.0.0.1%00.example.com/", "http://[::1]evil/", "http://%31%32%37.0.0.1/",
    "\\\\127.0.0.1\\share", "http:\\\\127.0.0.1\\",
]  # fmt: skip


@pytest.mark.parametrize("url", LITERALS)
async def test_no_way_of_writing_an_address_inside_goes_unasked(site: Site, url: str) -> None:
    approver = approving()
    with suppress(ToolError):  # some ways of writing are no addresses
        assert await fetch(access(Names({}), approver), url.format(port=site.port)) is DENIED
        assert approver.asked[-1].place
    assert site.asked == []


@pytest.mark.parametrize("url", NOT_WEB)
async def test_what_is_no_address_of_the_web_is_not_asked_for(site: Site, url: str) -> None:
    approver = approving("127.0.0.1")
    with pytest.raises(ToolError):
        await fetch(access(Names({}), approver), url)
    assert site.asked == []


def test_what_follows_the_host_is_not_taken_for_it() -> None:
    assert target("http://example.com#@127.0.0.1/").host == "example.com"
    assert target("http://example.com/?@127.0.0.1/").host == "example.com"
    assert target("http://127.0.0.1#.example.com/").host == "127.0.0.1"
    assert target("http://localhost.example.com/").host == "localhost.example.com"


@pytest.mark.parametrize(
    "name", ["аpple.com", "ɢoogle.com", "example.com\u200b", "exаmple.com", "paypal.com\u2024evil.com"]
)
def test_names_that_look_like_others_are_shown_as_what_they_are(name: str) -> None:
    try:
        host = target(f"https://{name}/").authority
    except ToolError:
        return
    assert host.isascii()
    assert host not in ("apple.com", "google.com", "example.com", "paypal.com")


REBINDING: list[tuple[str, list[Sequence[str]]]] = [
    ("metadata.google.internal", [["169.254.169.254"]]),
    ("127.0.0.1.nip.test", [["127.0.0.1"]]),
    ("both.test", [[OUTSIDE, "127.0.0.1"]]),
    ("mapped.test", [["::ffff:10.0.0.1"]]),
    ("nat.test", [["64:ff9b::a9fe:a9fe"]]),
    ("teredo.test", [["2001:0:7f00:1::f0f0:f0f0"]]),
    ("zone.test", [["fe80::1%eth0"]]),
    ("broken.test", [["127.0.0.1/8"]]),
]


@pytest.mark.parametrize(("name", "answers"), REBINDING, ids=[name for name, _ in REBINDING])
async def test_no_name_leads_inside_unasked(site: Site, name: str, answers: list[Sequence[str]]) -> None:
    approver = approving()
    assert await fetch(access(Names({name: answers}), approver), f"http://{name}:{site.port}/") is DENIED
    assert approver.asked[-1].place
    assert site.asked == []


async def test_a_name_that_changes_between_two_calls_is_asked_about_again(site: Site) -> None:
    """What was allowed for a name that led elsewhere does not hold for where it leads now."""
    names = Names({"site.test": [["127.0.0.1"], ["169.254.169.254"], [OUTSIDE, "127.0.0.53"]]})
    site.pages["/"] = Page("found", "text/plain")
    approver = approving("127.0.0.1")
    web = access(names, approver)
    assert isinstance(await fetch(web, f"http://site.test:{site.port}/"), Output)
    assert await fetch(web, f"http://site.test:{site.port}/") is DENIED
    assert await fetch(web, f"http://site.test:{site.port}/") is DENIED
    assert len(site.asked) == 1


@pytest.mark.parametrize("page", ["https://en.wikipedia.org/wiki/Wing", "https://wings.readthedocs.io/en/latest/"])
async def test_an_api_whose_name_leads_inside_the_second_time_is_not_asked(site: Site, page: str) -> None:
    host = target(page).host
    asked: list[str] = []

    async def resolve(name: str, port: int) -> Sequence[str]:
        asked.append(name)
        return ["127.0.0.1"] if len(asked) > 1 else ["198.51.100.1"]

    approver = approving("198.51.100.1")
    web = WebAccess(approver, WebClient({}, resolve), None, cast(Ports, Silent()))
    with pytest.raises(ToolError):  # nobody answers there
        await fetch(web, page.replace("https", "http"))
    assert asked[0] == host
    assert site.asked == []


CHAINS = [
    ["/2", "http://127.2:{port}/secret"],
    ["//inside.test:{port}/secret"],
    ["http://site.test:{port}/2", "http://[::ffff:127.0.0.2]:{port}/secret"],
    ["/2", "http://inside.test:{port}/secret"],
]


@pytest.mark.parametrize("chain", CHAINS, ids=range(len(CHAINS)))
async def test_no_chain_of_redirects_leads_inside_unasked(site: Site, chain: list[str]) -> None:
    site.pages = {"/secret": Page("secret", "text/plain")}
    for at, location in enumerate(chain, 1):
        site.pages[f"/{at}"] = Page(status=302, headers={"location": location.format(port=site.port)})
    names = Names({"site.test": [["127.0.0.1"]], "inside.test": [["127.0.0.2"]]})
    approver = approving("127.0.0.1")
    assert await fetch(access(names, approver), f"http://site.test:{site.port}/1") is DENIED
    assert approver.asked[-1].place
    assert "127.0.0.1" not in approver.asked[-1].addresses
    assert "/secret" not in [one.path for one in site.asked]


@pytest.mark.parametrize(
    "headers",
    [
        {"refresh": "0; url=http://127.0.0.1/secret"},
        {"content-location": "http://127.0.0.1/secret"},
        {"link": "<http://127.0.0.1/secret>; rel=preload"},
    ],
)
async def test_only_a_redirect_is_followed(site: Site, headers: dict[str, str]) -> None:
    page = '<meta http-equiv="refresh" content="0; url=/secret"><iframe src="/secret"></iframe><img src="/secret">Here.'
    site.pages = {"/1": Page(f"<html><body><main>{page}</main></body></html>", "text/html", headers=headers)}
    output = await fetch(
        access(Names({"site.test": [["127.0.0.1"]]}), approving("127.0.0.1")), f"http://site.test:{site.port}/1"
    )
    assert isinstance(output, Output)
    assert [one.path for one in site.asked] == ["/1"]


def test_reserved_ranges_are_inside() -> None:
    ranges = ["0.1.2.3", "192.88.99.1", "203.0.113.9", "198.51.100.7", "2001:db8::1", "100::1", "3fff::1", "5f00::1"]
    assert [one for one in ranges if not not_public((one,))] == []
