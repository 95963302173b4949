"""What models get wrong when they repeat a text that they have read: possible mistakes, tried one by one against the
file. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern

_LOOK_ALIKE = str.maketrans(
    {"‘": "'", "’": "'", "‚": "'", "“": '"', "”": '"', "„": '"', "–": "-", "—": "-", "−": "-", "‑": "-"}
)
_NUMBER = lazy_pattern(r"\s*\d+[\t→|:]")
_SPACED_NUMBER = lazy_pattern(r"\s*\d+[\t→|:] ?")
_FENCE = lazy_pattern(r"\s*(?:```|~~~)")
_ESCAPE = lazy_pattern(r"\\([nrt\"'\\])")
_ESCAPES = {"n": "\n", "r": "", "t": "\t"}
_LEFT_OUT = lazy_pattern(r"\s*(?:#|//|--|/\*|<!--|;|%)?\s*(?:\.{3}|…|\[\.{3}\])")


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong, and the lines of the file (1-based, inclusive) that are meant; None if they are unknown."""

    what: str
    lines: tuple[int, int] | None


def find_mistake(text: str, needle: str) -> Mistake | None:
    """Find why `needle` is not in `text` (both with `\\n`), if it would be once this one mistake is corrected."""
    for what, corrected in _corrected(needle):
        at = text.find(corrected) if corrected.strip() and corrected != needle else -1
        if at >= 0:
            return Mistake(what, _lines(text, at, corrected))
    for what, plain in _same_length(text, needle):
        at = plain(text).find(plain(needle))
        if at >= 0:
            return Mistake(what, _lines(text, at, needle))
    return _blank_lines(text, needle) or _left_out(text, needle)


def _lines(text: str, at: int, needle: str) -> tuple[int, int]:
    first = text.count("\n", 0, at) + 1
    return first, first + needle.rstrip("\n").count("\n")


def _corrected(needle: str) -> Iterator[tuple[str, str]]:
    lines = needle.split("\n")
    full = [line for line in lines if line.strip()]
    if full and all(_NUMBER.match(line) for line in full):
        for mark in (_NUMBER, _SPACED_NUMBER):
            bare = "\n".join(mark.sub("", line, count=1) for line in lines)
            yield "the text has line numbers, which are not part of the file", bare
    if any(_FENCE.match(line) for line in lines):
        bare = "\n".join(line for line in lines if not _FENCE.match(line))
        yield "the text has code block fences, which are not part of the file", bare.strip("\n")
    if full and all(line[0] in " +-" for line in full) and any(line[0] != " " for line in full):
        kept = [line[1:] for line in lines if not line.startswith("+")]
        yield "the text has +/- signs of a diff that are not in the file", "\n".join(kept)
        yield "the text has +/- signs of a diff that are not in the file", "\n".join(line[1:] for line in lines)
    if _ESCAPE.search(needle):
        plain = _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[1]), needle)
        yield 'the text is escaped one time too many (`\\n`, `\\t`, `\\"` as two characters)', plain
    import html  # imported late: its tables are large and only needed for a text that does not match

    if "&" in needle:
        yield "the text has HTML entities where the file has the characters themselves", html.unescape(needle)
    if any(ord(character) < 128 and character in "<>&\"'" for character in needle):
        yield "the file has HTML entities where the text has the characters", html.escape(needle, quote=False)
    yield "there are empty lines or spaces around the text that the file does not have", needle.strip("\n")
    yield "there are empty lines or spaces around the text that the file does not have", needle.strip()


def _same_length(text: str, needle: str) -> Iterator[tuple[str, Callable[[str], str]]]:
    """Yield comparisons in which every character keeps its position."""
    yield "quotes or dashes are of another kind (curly or straight)", lambda side: side.translate(_LOOK_ALIKE)
    if all(len(side.lower()) == len(side) for side in (text, needle)):
        yield "upper and lower case differ", str.lower


def _blank_lines(text: str, needle: str) -> Mistake | None:
    """Check whether the lines are the same except for empty ones between them."""
    wanted = [line for line in needle.split("\n") if line.strip()]
    full = [(at, line) for at, line in enumerate(text.split("\n"), start=1) if line.strip()]
    if len(wanted) < 2:
        return None
    for start in range(len(full) - len(wanted) + 1):
        if not full[start][1].endswith(wanted[0]):
            continue
        window = full[start : start + len(wanted)]
        if not window[-1][1].startswith(wanted[-1]):
            continue
        if all(line == want for (_, line), want in zip(window[1:-1], wanted[1:-1], strict=True)):
            return Mistake("empty lines within the text differ", (window[0][0], window[-1][0]))
    return None


def _left_out(text: str, needle: str) -> Mistake | None:
    """Check whether a line stands for others that were left out: `# ... existing code ...`."""
    lines = needle.strip("\n").split("\n")
    there = {line.strip() for line in text.split("\n")}
    at = next((at for at, line in enumerate(lines) if _LEFT_OUT.match(line) and line.strip() not in there), None)
    if at is None or len(lines) < 2:
        return None
    what = (
        f"its line {at + 1} ({lines[at].strip()[:60]}) stands for lines that were left out; every line must be there."
        " To replace a long block, name its first and last line with edit_replace_block"
    )
    before, after = "\n".join(lines[:at]), "\n".join(lines[at + 1 :])
    start = text.find(before) if before.strip() else -1
    if start < 0 or not after.strip():
        return Mistake(what, None)
    end = text.find(after.rstrip("\n"), start + len(before))
    if end < 0:
        return Mistake(what, None)
    return Mistake(what, (_lines(text, start, before)[0], _lines(text, end, after)[1]))
