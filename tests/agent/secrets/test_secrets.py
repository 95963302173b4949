"""Secrets are exchanged for placeholders and back, exactly, whatever stands around them and however it arrives."""

import json
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from north_lsp.agent.log.secret_rows import SecretRow
from north_lsp.agent.secrets.names import is_secret, is_secret_name, secrets_of, variables_of
from north_lsp.agent.secrets.secrets import Secrets
from north_lsp.agent.secrets.sources import Found
from north_lsp.agent.secrets.streams import StreamRestorer
from north_lsp.providers.base import AssistantMessage, BlockEnd, CallDelta, Done, StreamEvent, Text, TextDelta, ToolCall

TOKEN = "tok-9f8e7d6c5b"
QUOTED = 'a"quo\\ted value'
GITHUB = "ghp_" + "0123456789abcdefghijklmnopqrstuvwxyz"
PEM = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEAx7Jv0a9b2\n" * 3 + "Zm9v=\n-----END RSA PRIVATE KEY-----\n"


class Known:
    """A source that says what is secret."""

    has_news = False

    def __init__(self, *values: str) -> None:
        self.values = values

    def read(self) -> Found:
        return Found(frozenset(self.values))


def secrets(*values: str, is_on: bool = True) -> Secrets:
    return Secrets(Known(*values), lambda: b"key", lambda: is_on)


def test_a_value_has_the_same_placeholder_everywhere() -> None:
    there = secrets(TOKEN, TOKEN + "-longer")
    assert there.masked(f"{TOKEN} {TOKEN}-longer {TOKEN}") == "<<$env:S0>> <<$env:S1>> <<$env:S0>>"
    assert there.masked({"a": [f"x{TOKEN}"], TOKEN: None}) == {"a": ["x<<$env:S0>>"], "<<$env:S0>>": None}
    assert there.restored("cat <<$env:S1>>") == f"cat {TOKEN}-longer"
    assert there.count == 2


def test_a_text_without_secrets_is_the_same_object() -> None:
    value = {"a": ["plain text", 1, None], "b": ("more of it",)}
    assert secrets(TOKEN).masked(value) is value
    assert secrets(TOKEN).restored(value) is value


def test_nothing_is_masked_when_it_is_switched_off_but_placeholders_are_restored() -> None:
    there = secrets(TOKEN, is_on=False)
    there.adopt([SecretRow(0, text="x")])
    assert there.masked(TOKEN) == TOKEN
    assert there.restored("<<$env:S0>>") == "x"


def test_a_conversation_that_is_opened_again_has_the_same_numbers() -> None:
    before = secrets(TOKEN, QUOTED)
    masked = before.masked([QUOTED, TOKEN, GITHUB])
    after = secrets(TOKEN, QUOTED)
    after.adopt(before.take_unrecorded())
    assert after.masked([QUOTED, TOKEN, GITHUB]) == masked
    assert after.masked("sk-live-0123456789abcdef") == "<<$env:S3>>"
    assert before.take_unrecorded() == []


def test_a_placeholder_whose_value_is_gone_stays_and_is_never_another_ones() -> None:
    before = secrets(TOKEN)
    before.masked(TOKEN)
    after = secrets("another-secret-1")
    after.adopt(before.take_unrecorded())
    assert after.loaded("old <<$env:S0>>") == "old <<$env:S0>>"
    assert after.masked("old <<$env:S0>> another-secret-1") == "old <<$env:S0>> <<$env:S1>>"
    assert after.unknown_in({"command": "use <<$env:S0>> and <<$env:S1>> and <<$env:S7>>"}) == ["<<$env:S0>>"]


def test_a_value_that_its_source_has_no_more_stays_masked() -> None:
    source = Known(TOKEN, "never-shown-1")
    there = Secrets(source, lambda: b"key", lambda: True)
    cut = "cut-off-0123456789"
    source.values = (*source.values, cut)
    before = there.masked(f"{TOKEN} <<$env:S7>> {cut[:12]}…")
    source.values = ()
    there.refresh()
    assert there.masked(f"{TOKEN} <<$env:S7>> {cut[:12]}…") == before
    assert there.masked("never-shown-1") == "never-shown-1"


def test_what_is_left_of_a_value_that_was_cut_off_is_masked_too() -> None:
    there = secrets(TOKEN)
    text = f"Run: login {TOKEN[:9]}…{TOKEN[6:]} and {TOKEN[:5]}… and {TOKEN}"
    masked = there.masked(text)
    assert masked == f"Run: login <<$env:S0>>…<<$env:S1>> and {TOKEN[:5]}… and <<$env:S2>>"
    assert there.restored(masked) == text


def test_a_text_that_only_looks_like_a_placeholder_comes_back_as_it_was() -> None:
    before = secrets(TOKEN)
    masked = before.masked(f"{TOKEN} <<$env:S0>> <<$env:S12>>")
    assert masked == "<<$env:S0>> <<$env:S1>> <<$env:S2>>"
    assert before.restored(masked) == f"{TOKEN} <<$env:S0>> <<$env:S12>>"
    assert before.count == 1
    after = secrets(TOKEN)
    after.adopt(before.take_unrecorded())
    assert (after.loaded(masked), after.count) == (before.restored(masked), 1)


def test_a_value_is_found_as_json_writes_it() -> None:
    there = secrets(QUOTED)
    result = json.dumps({"data": f"x={QUOTED}"})
    masked = there.masked(result)
    assert json.loads(masked) == {"data": "x=<<$env:S0>>"}
    assert there.restored(masked) == result
    assert there.masked(f"x={QUOTED}") == "x=<<$env:S0>>"


NUMBERED = "".join(f"{number}\t{line}" for number, line in enumerate(PEM.splitlines(keepends=True)))


@pytest.mark.parametrize("text", [PEM, json.dumps({"key": PEM}), NUMBERED])
def test_the_lines_of_a_private_key_are_masked_however_they_are_shown(text: str) -> None:
    there = secrets()
    masked = there.masked(text)
    assert "MIIE" not in masked
    assert "Zm9v" not in masked
    assert there.restored(masked) == text


@pytest.mark.parametrize(
    "text",
    ["postgres://{user}:{password}@host", "https://example.com/a:b@c", "psql://me:password@h", "the key is in ~/.env"],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert secrets().masked(text) == text


def test_a_short_word_is_not_found_within_longer_ones() -> None:
    there = secrets("sunshine")
    assert there.masked("sunshine sunshineHours my_sunshine x-sunshine") == (
        "<<$env:S0>> sunshineHours my_<<$env:S0>> x-<<$env:S0>>"
    )


def test_values_that_overlap_are_masked_together() -> None:
    there = secrets("one-two-three", "three-four-five", "ghp_0123", "x=sk-ab")
    text = f"one-two-three-four-five {GITHUB} x=sk-abcdefgh12345678 one-two-three"
    masked = there.masked(text)
    assert masked == "<<$env:S0>> <<$env:S1>> <<$env:S2>> <<$env:S3>>"
    assert there.restored(masked) == text
    quoted = 'a"quo\\ted value'
    there = secrets(quoted, 'value and "more" of it')
    for text in (f'{quoted} and "more" of it', json.dumps([f'{quoted} and "more" of it'])):
        assert not any(word in there.masked(text) for word in ("quo", "ted", "value", "more", "of it"))
        assert there.restored(there.masked(text)) == text


def test_a_password_in_an_address_that_is_known_is_masked_by_itself() -> None:
    there = secrets("s3cret-pw-1")
    assert there.masked("s3cret-pw-1 pg://me:s3cret-pw-1@host") == "<<$env:S0>> pg://me:<<$env:S0>>@host"
    assert there.masked("pg://me:0ther-pw-1@host") == "pg://<<$env:S1>>@host"


def test_a_value_that_was_put_back_is_found_within_longer_words_from_then_on() -> None:
    there = secrets("correcthorse")
    assert there.masked("login -p correcthorse, correcthorses") == "login -p <<$env:S0>>, correcthorses"
    before = there.revision
    assert there.restored("mysql -p<<$env:S0>>") == "mysql -pcorrecthorse"
    assert there.revision > before  # what was sent before is masked anew
    assert there.masked("mysql -pcorrecthorse") == "mysql -p<<$env:S0>>"
    before = there.revision
    assert there.restored("<<$env:S0>>") == "correcthorse"
    assert there.revision == before
    again = secrets("correcthorse")
    again.adopt(there.take_unrecorded())
    assert again.loaded("mysql -p<<$env:S0>>") == "mysql -pcorrecthorse"
    assert again.masked("mysql -pcorrecthorse") == "mysql -p<<$env:S0>>"


def test_arguments_in_which_a_value_was_put_back_have_a_secret() -> None:
    is_on = True
    there = Secrets(Known("correcthorse"), lambda: b"key", lambda: is_on)
    arguments = {"words": [there.restored(there.masked("-p correcthorse"))]}
    assert there.is_in(arguments)
    assert there.is_in("-pcorrecthorse")
    assert not there.is_in({"words": ["-p correct horse"]})
    is_on = False
    assert there.is_in(arguments)


@pytest.mark.parametrize(
    "name", ["AWS_SECRET_ACCESS_KEY", "GH_TOKEN", "DB_PASS", "MY_API_KEY_2", "PGPASSWORD", "token"]
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["PATH", "KEYBOARD", "MONKEY", "SSH_AUTH_SOCK", "TOKENS_MAX", "PWD"])
def test_other_names(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    "value", ["short", "password", "xxxxxxxxxxxx", "${OTHER_KEY}", "<your key>", "your-key-here", "/etc/hosts"]
)
def test_values_that_are_no_secrets(value: str) -> None:
    assert not is_secret(value)


def test_a_file_of_variables() -> None:
    text = (
        "# comment\nexport API_KEY=abcdefgh1 # mine\nOTHER_TOKEN='with # in it'\nCERT_KEY=\"two\\nlines-of-it\"\n"
        "DATABASE_URL=postgres://me:s3cr3t-pw@host/db\nNODE_ENV=development\nEMPTY_KEY=\n"
    )
    found = set(secrets_of(variables_of(text)))
    assert found == {"abcdefgh1", "with # in it", "two\\nlines-of-it", "two\nlines-of-it", "s3cr3t-pw"}


VALUES = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=8, max_size=30), max_size=4)


@given(values=VALUES, data=st.data())
def test_whatever_is_masked_is_restored_and_has_no_secret(values: list[str], data: st.DataObject) -> None:
    around = st.one_of(
        st.text(max_size=20), st.sampled_from(["<<$env:S0>>", "<<$env:S", "<<", '"', "\\", GITHUB, *values])
    )
    text = "x" + "".join(data.draw(st.lists(around, max_size=8)))
    there = secrets(*values)
    masked = there.masked(text)
    assert there.restored(masked) == text
    for value in (GITHUB, *values):
        if not value.isalpha() and not value.isdecimal() and not value.startswith("<<$env") and "$env:S" not in value:
            assert value not in masked


def passed(there: Secrets, events: Iterable[StreamEvent]) -> list[StreamEvent]:
    restorer = StreamRestorer(there)
    return [one for event in events for one in restorer.take(event)]


@given(cuts=st.lists(st.integers(0, 80), max_size=12), kind=st.sampled_from([TextDelta, CallDelta]))
def test_a_streamed_answer_is_restored_however_it_is_cut(
    cuts: list[int], kind: type[TextDelta] | type[CallDelta]
) -> None:
    there = secrets(TOKEN, QUOTED)
    masked = there.masked(f"use {TOKEN} or <<$env: or << {TOKEN}< and {QUOTED} <")
    places = sorted({0, len(masked), *(cut for cut in cuts if cut < len(masked))})
    pieces = [masked[a:b] for a, b in pairwise(places)]
    block = Text(masked)
    events = [*(kind(0, piece) for piece in pieces), BlockEnd(0, block), Done("stop", AssistantMessage((block,)))]
    came = passed(there, events)
    shown = "".join(one.text if isinstance(one, TextDelta) else one.json for one in came if isinstance(one, kind))
    quoted = QUOTED if kind is TextDelta else json.dumps(QUOTED)[1:-1]
    assert shown == f"use {TOKEN} or <<$env: or << {TOKEN}< and {quoted} <"
    whole = f"use {TOKEN} or <<$env: or << {TOKEN}< and {QUOTED} <"
    assert came[-2:] == [BlockEnd(0, Text(whole)), Done("stop", AssistantMessage((Text(whole),)))]


def test_as_little_as_possible_is_held_back() -> None:
    there = secrets(TOKEN)
    there.masked(TOKEN)
    came = passed(there, [TextDelta(0, "a < b"), TextDelta(0, " <<$en"), TextDelta(0, "d"), TextDelta(0, "<")])
    assert came == [TextDelta(0, "a < b"), TextDelta(0, " "), TextDelta(0, "<<$end")]


def test_a_call_with_a_placeholder_that_nobody_knows_any_more_is_not_run() -> None:
    there = secrets()
    there.adopt([SecretRow(0, "0" * 32)])
    (end,) = passed(there, [BlockEnd(0, ToolCall("1", "shell_run", {"command": "use <<$env:S0>>"}))])
    assert isinstance(end, BlockEnd)
    assert isinstance(end.block, ToolCall)
    assert "<<$env:S0>> is not known any more" in str(end.block.problem)


@pytest.mark.parametrize(
    "text",
    [
        "sk-" + "a-sk-" * 50_000,
        "eyaaaaaaaaaaa-" * 20_000 + ".ey",
        "-----BEGIN PRIVATE KEY-----" * 8000,
        "://a:" * 60_000,
    ],
    ids=lambda text: text[:10],
)
def test_no_text_takes_long_to_look_through(text: str) -> None:
    """With a form that looks back and forth, these took minutes."""
    assert secrets().masked(text) == text


@pytest.mark.parametrize("escape", ["\n", "\t", "\r\n", "a\n\t"])
def test_a_secret_at_the_beginning_of_a_line_is_found_in_json(escape: str) -> None:
    """Where `\\n` stands for the end of a line, the letter before the secret is none of its word."""
    form, value = "glsa_" + "Az09" * 10, "correcthorsebattery"
    of_user = secrets(value)
    text = json.dumps({"content": f"first{escape}{form}{escape}{value}{escape}last"})
    found = of_user.masked(text)
    assert form not in found
    assert value not in found
    assert json.loads(found)["content"].endswith("last")
    assert of_user.restored(found) == text
