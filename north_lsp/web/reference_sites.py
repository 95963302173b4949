"""More sites that say by an API what their pages show: registries of packages, documentation, papers, standards,
discussions, vulnerabilities. Rows for the table in `sites.py`."""

from __future__ import annotations

import re
from html import escape, unescape
from typing import Any

from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.web.search.base import rows, text
from north_lsp.web.site import MOST_ROWS, Site, names, plain, sheet

_CAPITAL = lazy_pattern(r"[A-Z]")
_LONGEST_COMMENT = 4000
_MOST_COMMENTS = 60


def _as_go(name: str) -> str:
    """Spell a module as the proxy does: `!b` for a capital."""
    return _CAPITAL.sub(lambda found: f"!{found[0].lower()}", name)


def _go(data: Any) -> str:
    origin = data.get("Origin") or {}
    kept = [("version", data["Version"]), ("published", text(data, "Time")), ("repository", text(origin, "URL"))]
    return sheet("Go module", "", *kept)


def _maven(data: Any) -> str:
    (found, *_) = rows(data, "response", "docs")
    kept = [("version", found["latestVersion"]), ("versions", found.get("versionCount")), ("packaging", found.get("p"))]
    return sheet(f"{found['g']}:{found['a']}", "", *kept)


def _nuget(data: Any) -> str:
    (found, *_) = rows(data, "data")
    authors = found.get("authors")
    kept = [(name, found.get(name)) for name in ("version", "totalDownloads", "projectUrl", "licenseUrl")]
    who = authors if isinstance(authors, str) else names(authors)
    return sheet(found["id"], text(found, "description"), *kept, ("authors", who), ("tags", names(found.get("tags"))))


def _docs_page(data: Any) -> str:
    content: str = data["content"]
    return content


def _mdn(data: Any) -> str:
    page = data["doc"]
    parts = [f"<h1>{escape(page['title'])}</h1>"]
    for one in rows(page, "body"):
        value = one.get("value")
        if text(one, "type") == "prose" and isinstance(value, dict):
            title = text(value, "title")
            parts += [f"<h2>{title}</h2>"] * bool(title) + [text(value, "content")]
    return "".join(parts)


def _paper(feed: str) -> str:
    entry, end, _ = feed.partition("<entry>")[2].partition("</entry>")
    if not end:
        raise ValueError("no entry")

    def field(name: str) -> list[str]:
        found = re.findall(rf"<{name}(?: [^<>]*)?>([^<]*)</{name}>", entry)
        return [" ".join(unescape(one).split()) for one in found]

    if field("title")[0] == "Error":  # which comes as a paper, with the status 200
        raise ValueError("no paper")
    kept = [("authors", ", ".join(field("name"))), ("published", "".join(field("published")[:1]))]
    kept += [("updated", "".join(field("updated")[:1])), ("comment", "".join(field("arxiv:comment")[:1]))]
    return sheet(field("title")[0], field("summary")[0], *kept)


def _rfc(whole: str) -> str:
    if "Request for Comments" not in whole[:4000] and "RFC" not in whole[:4000]:
        raise ValueError("no RFC")
    return whole.replace("\f", "")


def _discussion(data: Any) -> str:
    kept = [("by", text(data, "author")), ("points", data.get("points")), ("link", text(data, "url"))]
    head = sheet(data["title"] or "Comment", plain(text(data, "text")), *kept, ("created", text(data, "created_at")))
    said: list[str] = []

    def add(one: Any, depth: int) -> None:
        for child in rows(one, "children"):
            if len(said) >= _MOST_COMMENTS or depth > 12:
                return
            words = " ".join(plain(text(child, "text")).split())[:_LONGEST_COMMENT]
            if words:
                said.append(f"{'  ' * depth}- {text(child, 'author')}: {words}")
            add(child, depth + 1)

    add(data, 0)
    return f"{head}\n\n" + "\n".join(said)


def _cve(data: Any) -> str:
    (found, *_) = rows(data, "vulnerabilities")
    cve = found["cve"]
    about = next((text(one, "value") for one in rows(cve, "descriptions") if text(one, "lang") == "en"), "")
    scores: list[str] = []
    metrics = cve.get("metrics")
    for name, ratings in metrics.items() if isinstance(metrics, dict) else ():
        for one in ratings[:1] if isinstance(ratings, list) else ():
            rated = one["cvssData"]
            scores.append(f"{rated.get('baseScore')} {text(rated, 'baseSeverity')} ({name})".replace("  ", " "))
    links = "\n".join(f"- {text(one, 'url')}" for one in rows(cve, "references")[:MOST_ROWS])
    kept = [("status", text(cve, "vulnStatus")), ("scores", ", ".join(scores)), ("published", text(cve, "published"))]
    return f"{sheet(cve['id'], about, *kept)}\n\n{links}"


def _marketplace(data: Any) -> str:
    publisher = text(data.get("publisher"), "publisherName")
    latest = next(iter(rows(data, "versions")), {})
    counted = {text(one, "statisticName"): one.get("value") for one in rows(data, "statistics")}
    kept = [
        ("version", text(latest, "version")),
        ("updated", text(latest, "lastUpdated")),
        ("installs", counted.get("install")),
    ]
    title = f"{publisher}.{data['extensionName']}"
    return sheet(title, text(data, "shortDescription"), *kept, ("categories", names(data.get("categories"))))


_NAME = r"[A-Za-z0-9_.-]+"
_ARTIFACT = rf"/artifact/(?P<group>{_NAME})/(?P<name>{_NAME})(?:/.*)?"
_MAVEN = ("https://search.maven.org", "/solrsearch/select?q=g:{group}+AND+a:{name}&rows=1&wt=json", _maven)
_RFC = ("https://www.rfc-editor.org", "/rfc/rfc{id}.txt", _rfc)
_PAPER = ("https://export.arxiv.org", "/api/query?id_list={id}", _paper)
REFERENCE_SITES = (
    Site(
        "pkg.go.dev",
        r"/(?P<name>[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+(?:/[\w.~-]+)*)(?:@[^/]*)?",
        "https://proxy.golang.org",
        "/{name}/@latest",
        _go,
        spell=_as_go,
    ),
    Site("central.sonatype.com", _ARTIFACT, *_MAVEN),
    Site("search.maven.org", _ARTIFACT, *_MAVEN),
    Site("mvnrepository.com", _ARTIFACT, *_MAVEN),
    Site(
        "nuget.org",
        rf"/packages/(?P<name>{_NAME})(?:/.*)?",
        "https://azuresearch-usnc.nuget.org",
        "/query?q=packageid:{name}&prerelease=false&semVerLevel=2.0.0",
        _nuget,
    ),
    Site(
        ".readthedocs.io",
        r"(?P<page>/[^?#]*)",
        "https://app.readthedocs.org",
        "/api/v3/embed/?url=https%3A//{host}{page}",
        _docs_page,
        html=True,
    ),
    Site(
        "developer.mozilla.org",
        r"/(?P<page>[A-Za-z-]+/docs/[^?#]+?)/?",
        "https://developer.mozilla.org",
        "/{page}/index.json",
        _mdn,
        html=True,
    ),
    Site("arxiv.org", r"/(?:abs|pdf)/(?P<id>[\w.-]+?(?:/\d+)?)(?:\.pdf)?", *_PAPER, text=True),
    Site("rfc-editor.org", r"/(?:rfc|info)/rfc(?P<id>\d+)(?:\.html|\.txt)?/?", *_RFC, text=True),
    Site("datatracker.ietf.org", r"/doc/(?:html/)?rfc(?P<id>\d+)/?", *_RFC, text=True),
    Site(
        "news.ycombinator.com",
        r"/item\?(?:.*&)?id=(?P<id>\d+)(?:&.*)?",
        "https://hn.algolia.com",
        "/api/v1/items/{id}",
        _discussion,
    ),
    Site(
        "nvd.nist.gov",
        r"/vuln/detail/(?P<id>CVE-\d+-\d+)/?",
        "https://services.nvd.nist.gov",
        "/rest/json/cves/2.0?cveId={id}",
        _cve,
    ),
    Site(
        "marketplace.visualstudio.com",
        r"/items\?(?:.*&)?itemName=(?P<publisher>[\w-]+)\.(?P<name>[\w-]+)(?:&.*)?",
        "https://www.vscode-unpkg.net",
        "/_gallery/{publisher}/{name}/latest",
        _marketplace,
    ),
)
