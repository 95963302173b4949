"""Which host an address means, and where it leads."""

import pytest

from north_lsp.errors import ToolError
from north_lsp.web.addresses import METADATA, not_public, target

LOOPBACK = [
    "127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "127.0.0.1.",
    "0", "0.0.0.0", "127.255.255.254", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]", "１２７.０.０.１", "127。0。0。1",
]  # fmt: skip
INSIDE = [
    "10.0.0.1", "10.1", "0xa000001", "172.16.0.1", "192.168.1.1", "3232235777", "100.64.0.1", "198.18.0.1", "192.0.2.1",
    "224.0.0.1", "255.255.255.255", "240.0.0.1", "[fd00::1]", "[fc00::1]", "[fec0::1]", "[ff02::1]",
    "[::ffff:10.0.0.1]", "[64:ff9b::a00:1]", "[2002:a00:1::]", "[64:ff9b:1::1]",
]  # fmt: skip
LINK = ["169.254.1.1", "[fe80::1]", "0xa9fe0101"]
CLOUD = [
    *(f"[{one}]" if ":" in one else one for one in METADATA),
    "2852039166",
    "[::ffff:169.254.169.254]",
    "0xa9fea9fe",
]


def place_of(url: str) -> str:
    try:
        return not_public((target(url).address,))
    except ToolError as error:  # refused already: some ways of writing are no addresses for httpx
        return f"this machine, {error}" if error.message.endswith(("'0177.0.0.1'", "'１２７.０.０.１'")) else str(error)


@pytest.mark.parametrize(
    ("hosts", "said"),
    [(LOOPBACK, "this machine"), (INSIDE, "private"), (LINK, "link-local"), (CLOUD, "metadata")],
    ids=["this machine", "private", "link-local", "metadata"],
)
def test_an_address_is_known_however_it_is_written(hosts: list[str], said: str) -> None:
    wrong = {host: place_of(f"http://{host}/") for host in hosts}
    assert {host: place for host, place in wrong.items() if said not in place} == {}


@pytest.mark.parametrize("host", ["93.184.216.34", "1.1.1.1", "[2606:4700::1111]", "[64:ff9b::101:101]"])
def test_public_addresses_are_public(host: str) -> None:
    assert not_public((target(f"https://{host}/").address,)) == ""


def test_one_address_inside_is_enough() -> None:
    assert not_public(("1.1.1.1", "10.0.0.1")) != ""
    assert not_public(("nonsense",)) != ""
    assert not_public(("fe80::1%eth0",)) == "a link-local address"


@pytest.mark.parametrize(
    ("text", "url", "authority"),
    [
        ("https://Example.COM", "https://example.com/", "example.com"),
        ("https://example.com./a?b=c#d", "https://example.com/a?b=c", "example.com"),
        ("http://example.com:80/", "http://example.com/", "example.com"),
        ("https://example.com:8443/x y".replace(" ", "%20"), "https://example.com:8443/x%20y", "example.com:8443"),
        ("https://bücher.example/ü", "https://xn--bcher-kva.example/%C3%BC", "xn--bcher-kva.example"),
        ("http://[2606:4700::1111]:81/", "http://[2606:4700::1111]:81/", "[2606:4700::1111]:81"),
    ],
)
def test_addresses_are_read(text: str, url: str, authority: str) -> None:
    assert (target(text).url, target(text).authority) == (url, authority)


def test_an_approval_of_https_is_not_one_of_http() -> None:
    kept = [target(f"{scheme}://example.com:{port}/").approved_as for scheme in ("https", "http") for port in (80, 443)]
    assert kept == ["example.com:80", "example.com", "http://example.com", "http://example.com:443"]


@pytest.mark.parametrize(
    "text",
    [
        "", "example.com", "ftp://example.com/", "file:///etc/passwd", "javascript:alert(1)",
        "gopher://127.0.0.1:70/_x", "https://", "https:///path", "https://user@example.com/",
        "https://user:word@example.com/", "http://exa mple.com/",
        "http://example.com\\@127.0.0.1/", "http://example.com/\r\nHost: x", "http://127.0.0.1%2f@example.com/",
        "http://[::1%25lo]/", "http://1.2.3.4.5/", "http://0x7f.0.0.0.1/", "http://256.256.256.256/", "http://[::1/",
        "http://example.com:99999999/", "https://" + "a" * 9000,
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ToolError) as caught:
        target(text)
    assert caught.value.code == "INVALID_INPUT"


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("/b", "https://example.com/b"),
        ("c?d", "https://example.com/a/c?d"),
        ("//other.example/x", "https://other.example/x"),
        ("http://2130706433/", "http://2130706433/"),
    ],
)
def test_redirects_are_addresses(location: str, url: str) -> None:
    assert target("https://example.com/a/").joined(location).url == url


def test_redirects_elsewhere_are_refused() -> None:
    with pytest.raises(ToolError):
        target("https://example.com/").joined("file:///etc/passwd")
