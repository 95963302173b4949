"""Names as people write them, and lists of them as people read them."""


def tidy(name: str) -> str:
    """The name with single spaces, and a capital letter at the start of each word."""
    return " ".join(word[:1].upper() + word[1:] for word in name.split())


def join(names: list[str]) -> str:
    """The names in one phrase: with commas, and "and" before the last."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
