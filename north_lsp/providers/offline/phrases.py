"""The offline model's wording, from `phrases.toml`."""

import tomllib
from functools import cache
from importlib.resources import files


def phrase(name: str, /, **values: object) -> str:
    """The text of that name with its places filled in. Raises KeyError for a name that is not in the file."""
    return _phrases()[name].format(**values)


@cache
def _phrases() -> dict[str, str]:
    loaded = tomllib.loads(files(__package__).joinpath("phrases.toml").read_text("utf-8"))
    return {name: str(text).strip("\n") for name, text in loaded.items()}
