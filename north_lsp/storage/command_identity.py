"""When two texts are the same command. Pure."""

_BLANKS = " \t\n"


def trimmed(command: str) -> str:
    """Without the white space around it that bash does not see either: anything else could be a part of a word, and so
    could a blank behind a backslash."""
    begun = command.lstrip(_BLANKS)
    text = begun.rstrip(_BLANKS)
    is_escaped = (len(text) - len(text.rstrip("\\"))) % 2 == 1
    return begun[: len(text) + 1] if is_escaped else text
