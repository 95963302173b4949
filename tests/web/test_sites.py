"""Sites with an API are asked there once the user has allowed the site; where it fails, the page is fetched."""

import base64
import json
import threading
import time
from collections.abc import Sequence

import pytest

from north_lsp.web import sites
from north_lsp.web.addresses import target
from north_lsp.web.client import WebClient
from north_lsp.web.reference_sites import _paper
from north_lsp.web.site import plain
from north_lsp.web.sites import SITES, SiteReader
from tests.support.web_site import Page, Site

pytestmark = pytest.mark.usefixtures("without_proxies")


async def nowhere(host: str, port: int) -> Sequence[str]:
    raise OSError("no names here")


def reader(site: Site, **environ: str) -> SiteReader:
    return SiteReader(WebClient(environ, nowhere), {one.base: site.url for one in SITES})


COMMENT = {"user": {"login": "ann"}, "created_at": "2026-01-02", "body": "Same here."}
ISSUE = {"title": "It breaks", "number": 7, "state": "open", "body": "Badly.", "user": {"login": "bob"}}
GITLAB_ISSUE = {
    "iid": 7,
    "title": "It breaks",
    "description": "Badly.",
    "state": "opened",
    "author": {"username": "ann"},
    "labels": ["bug"],
}
CONTENT = {"content": base64.b64encode(b"print('hi')\n").decode()}
GIST = {"description": "A gist", "files": {"a.py": {"filename": "a.py", "content": "x = 1"}}}
PYPI = {
    "info": {"name": "wings", "version": "1.2", "summary": "To fly", "description": "Long.", "requires_dist": ["air"]}
}
NPM = {"name": "@a/wings", "dist-tags": {"latest": "2.0.0"}, "versions": {"2.0.0": {"dependencies": {"air": "1"}}}}
QUESTION = {
    "items": [{"title": "Why &lt;b&gt;?", "body": "<p>I <code>ask</code>.</p>", "score": 3, "tags": ["python"]}]
}
ANSWERS = {"items": [{"body": "<p>No.</p>", "score": 9}, {"body": "<p>Yes.</p>", "score": 1, "is_accepted": True}]}
OSV = {
    "id": "GHSA-1",
    "summary": "Bad",
    "aliases": ["CVE-1"],
    "severity": [{"type": "CVSS_V3", "score": "CVSS:3.1/AV:N"}],
    "affected": [
        {
            "package": {"ecosystem": "PyPI", "name": "wings"},
            "ranges": [
                {"type": "GIT", "events": [{"introduced": "0"}, {"fixed": "0123abcd"}]},
                {"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "1.2"}]},
            ],
        }
    ],
}
CVE = {
    "id": "CVE-2026-1",
    "vulnStatus": "Analyzed",
    "descriptions": [{"lang": "es", "value": "Mal."}, {"lang": "en", "value": "Bad."}],
    "metrics": {"cvssMetricV31": [{"cvssData": {"baseScore": 9.8, "baseSeverity": "CRITICAL"}}]},
    "references": [{"url": "https://example.org/fix"}],
}
FEED = (
    '<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>ArXiv Query</title><entry>'
    "<published>2026-01-02T00:00:00Z</published><title>On\n  wings &amp; air</title><summary>They fly.</summary>"
    "<author><name>A. Bee</name></author><author><name>C. Dee</name></author></entry></feed>"
)
MDN = {
    "doc": {
        "title": "map()",
        "body": [
            {"type": "prose", "value": {"title": None, "content": "<p>Calls <code>f</code>.</p>"}},
            {"type": "browser_compatibility", "value": {}},
            {"type": "prose", "value": {"title": "Syntax", "content": "<pre>map(f)</pre>"}},
        ],
    }
}
TALK = {
    "title": "Wings",
    "author": "ann",
    "points": 5,
    "url": "https://example.org/",
    "children": [{"author": "bob", "text": "<p>Nice.</p>", "children": [{"author": "cat", "text": "No."}]}],
}
EXTENSION = {
    "publisher": {"publisherName": "a"},
    "extensionName": "wings",
    "shortDescription": "To fly",
    "versions": [{"version": "3.1.0", "lastUpdated": "2026-01-02"}],
    "statistics": [{"statisticName": "install", "value": 12.0}],
}
MAVEN = {"response": {"docs": [{"g": "org.a", "a": "wings", "latestVersion": "1.4", "versionCount": 9, "p": "jar"}]}}
MAVEN_ASKED = "/solrsearch/select?q=g:org.a+AND+a:wings&rows=1&wt=json"
NUGET = {"data": [{"id": "A.Wings", "version": "5.0.1", "description": "To fly", "authors": ["Ann"], "tags": ["air"]}]}
DOCS_ASKED = "/api/v3/embed/?url=https%3A//wings.readthedocs.io/en/latest/api.html"
RFC = "Request for Comments: 9999\n\n   Wings\n\f\nEnd\n"
PAGES: list[tuple[str, dict[str, object], list[str]]] = [
    (
        "https://pkg.go.dev/github.com/BurntSushi/toml@v1.2.0",
        {"/github.com/!burnt!sushi/toml/@latest": {"Version": "v1.4.0", "Time": "2026-01-02T00:00:00Z"}},
        ["- version: v1.4.0"],
    ),
    ("https://central.sonatype.com/artifact/org.a/wings", {MAVEN_ASKED: MAVEN}, ["# org.a:wings", "- version: 1.4"]),
    ("https://mvnrepository.com/artifact/org.a/wings/1.4", {MAVEN_ASKED: MAVEN}, ["- packaging: jar"]),
    (
        "https://www.nuget.org/packages/A.Wings/",
        {"/query?q=packageid:A.Wings&prerelease=false&semVerLevel=2.0.0": NUGET},
        ["# A.Wings", "- version: 5.0.1", "- authors: Ann"],
    ),
    (
        "https://wings.readthedocs.io/en/latest/api.html",
        {DOCS_ASKED: {"content": "<h1>API</h1><p>It <code>flies</code>.</p>", "fragment": ""}},
        ["# API", "`flies`"],
    ),
    (
        "https://developer.mozilla.org/en-US/docs/Web/JavaScript/map",
        {"/en-US/docs/Web/JavaScript/map/index.json": MDN},
        ["# map()", "Calls `f`.", "## Syntax\n\n```\nmap(f)\n```"],
    ),
    (
        "https://arxiv.org/abs/2601.00001v2",
        {"/api/query?id_list=2601.00001v2": FEED},
        ["# On wings & air", "They fly.", "- authors: A. Bee, C. Dee"],
    ),
    ("https://arxiv.org/pdf/2601.00001.pdf", {"/api/query?id_list=2601.00001": FEED}, ["They fly."]),
    ("https://www.rfc-editor.org/rfc/rfc9999.html", {"/rfc/rfc9999.txt": RFC}, ["Wings\n\nEnd"]),
    ("https://datatracker.ietf.org/doc/html/rfc9999", {"/rfc/rfc9999.txt": RFC}, ["Request for Comments: 9999"]),
    (
        "https://news.ycombinator.com/item?id=42",
        {"/api/v1/items/42": TALK},
        ["# Wings", "- bob: Nice.", "  - cat: No."],
    ),
    (
        "https://nvd.nist.gov/vuln/detail/CVE-2026-1",
        {"/rest/json/cves/2.0?cveId=CVE-2026-1": {"vulnerabilities": [{"cve": CVE}]}},
        ["Bad.", "9.8 CRITICAL", "https://example.org/fix"],
    ),
    (
        "https://marketplace.visualstudio.com/items?itemName=a.wings&ssr=false",
        {"/_gallery/a/wings/latest": EXTENSION},
        ["# a.wings", "To fly", "- version: 3.1.0", "- installs: 12"],
    ),
    (
        "https://github.com/a/wings",
        {"/repos/a/wings": {"full_name": "a/wings", "description": "To fly"}},
        ["# a/wings"],
    ),
    (
        "https://github.com/a/wings/blob/main/src/x.py#L3",
        {"/repos/a/wings/contents/src/x.py?ref=main": CONTENT},
        ["print('hi')"],
    ),
    (
        "https://github.com/a/wings/issues/7",
        {"/repos/a/wings/issues/7": ISSUE, "/repos/a/wings/issues/7/comments": [COMMENT]},
        ["# It breaks (#7)", "Badly.", "- state: open"],
    ),
    (
        "https://github.com/a/wings/pull/7",
        {"/repos/a/wings/pulls/7": {**ISSUE, "merged": True}, "/repos/a/wings/issues/7/comments": [COMMENT]},
        ["- state: merged"],
    ),
    ("https://gist.github.com/a/0123abcd", {"/gists/0123abcd": GIST}, ["# A gist", "x = 1"]),
    (
        "https://gitlab.com/a/wings",
        {"/api/v4/projects/a%2Fwings": {"path_with_namespace": "a/wings", "description": "To fly"}},
        ["To fly"],
    ),
    (
        "https://gitlab.com/a/b/wings",
        {"/api/v4/projects/a%2Fb%2Fwings": {"path_with_namespace": "a/b/wings", "description": "To fly"}},
        ["# a/b/wings"],
    ),
    (
        "https://gitlab.com/a/b/wings/-/issues/7",
        {"/api/v4/projects/a%2Fb%2Fwings/issues/7": GITLAB_ISSUE},
        ["# It breaks (#7)", "- state: opened", "- by: ann", "- labels: bug"],
    ),
    (
        "https://gitlab.com/a/wings/-/merge_requests/8",
        {"/api/v4/projects/a%2Fwings/merge_requests/8": GITLAB_ISSUE | {"source_branch": "fix"}},
        ["- source_branch: fix"],
    ),
    (
        "https://gitlab.com/a/wings/-/blob/main/src/x.py",
        {"/api/v4/projects/a%2Fwings/repository/files/src%2Fx.py?ref=main": CONTENT},
        ["print('hi')"],
    ),
    ("https://pypi.org/project/wings/", {"/pypi/wings/json": PYPI}, ["- version: 1.2", "- needs: air", "Long."]),
    ("https://www.npmjs.com/package/@a/wings", {"/%40a%2Fwings": NPM}, ["- version: 2.0.0", "- needs: air"]),
    ("https://crates.io/crates/wings", {"/api/v1/crates/wings": {"crate": {"name": "wings", "downloads": 5}}}, ["5"]),
    ("https://rubygems.org/gems/wings", {"/api/v1/gems/wings.json": {"name": "wings", "version": "1"}}, ["version: 1"]),
    (
        "https://packagist.org/packages/a/wings",
        {"/packages/a/wings.json": {"package": {"name": "a/wings", "versions": {"dev-main": {}, "1.0": {}}}}},
        ["versions: 1.0"],
    ),
    (
        "https://hub.docker.com/_/wings",
        {"/v2/repositories/library/wings/": {"namespace": "library", "name": "wings", "pull_count": 3}},
        ["pull_count: 3"],
    ),
    ("https://open-vsx.org/extension/a/wings", {"/api/a/wings": {"namespace": "a", "name": "wings"}}, ["# a.wings"]),
    ("https://huggingface.co/a/wings", {"/api/models/a/wings": {"id": "a/wings", "tags": ["air"]}}, ["tags: air"]),
    (
        "https://huggingface.co/datasets/a/wings",
        {"/api/datasets/a/wings": {"id": "a/wings", "description": "Many.", "cardData": {"license": "mit"}}},
        ["Many.", "- license: mit"],
    ),
    (
        "https://stackoverflow.com/questions/11/why",
        {
            "/2.3/questions/11?site=stackoverflow&filter=withbody": QUESTION,
            "/2.3/questions/11/answers?site=stackoverflow&filter=withbody&sort=votes": ANSWERS,
        },
        ["# Why <b>?", "I `ask`.", "## Accepted answer, score 1"],
    ),
    (
        "https://en.wikipedia.org/wiki/Wing",
        {
            "/w/api.php?action=query&prop=extracts&explaintext=1&format=json&redirects=1&titles=Wing": {
                "query": {"pages": {"1": {"title": "Wing", "extract": "A wing."}}}
            }
        },
        ["A wing."],
    ),
    (
        "https://de.wikipedia.org/wiki/AC/DC",
        {
            "/w/api.php?action=query&prop=extracts&explaintext=1&format=json&redirects=1&titles=AC/DC": {
                "query": {"pages": {"1": {"title": "AC/DC", "extract": "Eine Band."}}}
            }
        },
        ["Eine Band."],
    ),
    (
        "https://osv.dev/vulnerability/GHSA-1",
        {"/v1/vulns/GHSA-1": OSV},
        ["- aliases: CVE-1", "- packages: wings (fixed in 1.2)", "- severity: CVSS:3.1/AV:N"],
    ),
]


def _page(answer: object) -> Page:
    return Page(answer, "text/plain") if isinstance(answer, str) else Page(json.dumps(answer), "application/json")


@pytest.mark.parametrize(("url", "answers", "told"), PAGES, ids=[url for url, _, _ in PAGES])
async def test_an_api_says_what_a_page_shows(site: Site, url: str, answers: dict[str, object], told: list[str]) -> None:
    site.pages = {path: _page(answer) for path, answer in answers.items()}
    found = await reader(site).read(target(url))
    assert [one.path for one in site.asked] == [*answers]
    assert found is not None
    assert [text for text in told if text not in found.text] == []


_ANSWERS = [Page("no", status=500), Page("not json"), Page("[]"), Page("null"), Page("{}"), Page("[" * 200_000)]


@pytest.mark.parametrize("answer", _ANSWERS, ids=range(len(_ANSWERS)))
async def test_whatever_an_api_answers_the_page_is_still_there(site: Site, answer: Page) -> None:
    site.answer = lambda asked: answer
    for url, _, _ in PAGES:
        found = await reader(site).read(target(url))
        assert found is None or answer.body == "[]"  # a folder without files


async def test_a_file_that_is_no_text_is_not_told_by_an_api(site: Site) -> None:
    site.pages = {"/repos/a/b/contents/x.png?ref=main": _page({"content": base64.b64encode(b"\x89PNG\0\0").decode()})}
    assert await reader(site).read(target("https://github.com/a/b/blob/main/x.png")) is None
    assert len(site.asked) == 1


async def test_other_pages_are_not_asked_for_there(site: Site) -> None:
    for url in (
        "https://github.com/",
        "https://github.com/a/b/settings",
        "https://pypi.org/",
        "https://example.com/a/b",
    ):
        assert await reader(site).read(target(url)) is None
    assert site.asked == []


async def test_no_name_leads_to_another_address_of_an_api(site: Site) -> None:
    """Some servers go up for `%2e%2e`, and the user's token would go along."""
    for url in (
        "https://github.com/a/b/blob/main/%2e%2e/%2e%2e/%2E%2e/user",
        "https://github.com/a/b/blob/%2e%2e/x",
        "https://github.com/a/b/blob/main/x%5c..%5c..%5cuser",
        "https://gitlab.com/a/b/-/blob/main/%2e%2e/x",
        "https://en.wikipedia.org/wiki/..%2f..%2fx",
    ):
        assert await reader(site, GH_TOKEN="t").read(target(url)) is None
    assert site.asked == []


async def test_the_token_goes_to_github_alone(site: Site) -> None:
    site.answer = lambda asked: Page('{"full_name": "a/b"}', "application/json")
    tokens = reader(site, GH_TOKEN="t2", GITHUB_TOKEN="t1")
    await tokens.read(target("https://github.com/a/b"))
    await tokens.read(target("https://pypi.org/project/b/"))
    assert [asked.headers.get("authorization") for asked in site.asked] == ["Bearer t1", None]


async def test_an_api_that_leads_inside_is_not_asked(site: Site) -> None:
    async def inside(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    assert await SiteReader(WebClient({}, inside)).read(target("https://github.com/a/b")) is None
    assert site.asked == []


async def test_what_a_site_says_is_told_on_a_thread(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []

    def noted(text: str) -> str:
        threads.append(threading.get_ident())
        return text

    monkeypatch.setattr(sites, "visible", noted)
    site.pages = {"/pypi/wings/json": _page(PYPI)}
    assert await reader(site).read(target("https://pypi.org/project/wings/")) is not None
    assert threads
    assert threading.get_ident() not in threads


def _seconds(work: object, text: str) -> float:
    assert callable(work)
    begin = time.perf_counter()
    work(text)
    return time.perf_counter() - begin


def test_no_text_takes_long_to_tell() -> None:
    assert plain("1 < 2 <b class='x'>and</b> <<i>so</i>") == "1 < 2 and <so"
    assert _seconds(plain, "<" * 1_000_000) < 1
    title = "<title>x</title><summary>x</summary></entry>"
    assert _seconds(_paper, "<entry>" + "<name>" * 30_000 + title) < 1
    assert _seconds(_paper, "<entry>" + "<name " * 30_000 + title) < 1
    with pytest.raises(ValueError, match="no entry"):
        _paper("<entry>" * 100_000)
