"""What of a server's entry is secret, so that it is masked in what the server says."""

from north_lsp.agent.ports.servers import ServerSpec
from north_lsp.mcp.secrets import secrets_given


def test_what_has_a_secret_name_is_secret_without_its_scheme() -> None:
    spec = ServerSpec(
        "a",
        "user",
        "",
        "http",
        env={"GITHUB_TOKEN": "of-the-environment", "MODE": "quiet"},
        args=("--verbose", "--api-key", "of-an-argument", "--token=of-one-word", "run"),
        url="https://a.example/mcp?tavilyApiKey=of-the-address&page=2",
        headers={"Authorization": "Bearer of-the-header", "X-Api-Key": "of-another", "Accept": "text/plain"},
    )
    found = {"of-the-environment", "of-the-address", "of-the-header", "of-another", "of-an-argument", "of-one-word"}
    assert set(secrets_given(spec)) == found


def test_an_address_that_is_none_has_no_secrets() -> None:
    assert list(secrets_given(ServerSpec("a", "user", "", "http", url="http://[::1/mcp?key=x"))) == []
