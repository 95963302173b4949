"""Secrets are found by their form, by the name that they have, and if they are known; everything else stays."""

import time

import pytest

from north_lsp.storage.masking import is_secret_name, masked

SECRETS = [
    "sk-ant-" + "api03-0123456789abcdef",
    "AIzaSyA0123456789abcdefghijklmnopqrstuv",
    "ghp_0123456789abcdefghijklmnopqrstuvwxyz",
    "github_pat_0123456789abcdefghijkl",
    "glpat-0123456789abcdefghij",
    "xoxb-012345678901-abcdefghijkl",
    "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_is_found_by_its_form(secret: str) -> None:
    text = masked(f"before {secret} after")
    assert text == "before [masked] after"
    assert masked(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"apiKey": "something-of-mine"}', '{"apiKey": "[masked]"}'),
        ("apiKey: something", "apiKey: [masked]"),
        ("OPENAI_API_KEY=abc123 north-lsp", "OPENAI_API_KEY=[masked] north-lsp"),
        ("Authorization: Bearer abcdefghijkl", "Authorization: [masked] [masked]"),
        ("with bearer abcdefghijkl.mno", "with bearer [masked]"),
        ("https://me:hidden@example.com/a", "https://[masked]@example.com/a"),
        ("password = 'a b c'", "password = '[masked]'"),
    ],
)
def test_a_secret_is_found_by_its_name(text: str, expected: str) -> None:
    assert masked(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        '{"inputTokens": 1200, "outputTokens": 9}',
        '"tokens": null',
        "https://example.com/a:b@c",
        "the key is in ~/.env",
        "sk-short",
        "def token(self): ...",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert masked(text) == text


def test_known_secrets_are_found_wherever_they_are() -> None:
    assert masked("a my-own-words b my-own", ["my-own", "my-own-words", "b"]) == "a [masked] b my-own"
    assert [name for name in ("OPENAI_API_KEY", "PATH", "GH_TOKEN", "db_password", "HOME") if is_secret_name(name)] == [
        "OPENAI_API_KEY",
        "GH_TOKEN",
        "db_password",
    ]


@pytest.mark.parametrize(
    "text", ["x" * 200_000, "token" * 40_000, "token " + " " * 200_000, 'token="' * 28_000, "a.b-" * 50_000]
)
def test_no_text_takes_long_to_mask(text: str) -> None:
    start = time.process_time()
    masked(text)
    assert time.process_time() - start < 5  # it was minutes


def test_the_field_at_the_end_of_a_long_word_is_masked() -> None:
    assert masked("x" * 10_000 + "_token=abc") == "x" * 10_000 + "_token=[masked]"
