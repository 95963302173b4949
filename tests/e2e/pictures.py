"""Compare pictures that `vscode/pictures.mjs` has taken with those in docs/images, or keep them there.

A picture has the text that it shows within it. Pixels differ with every font and every version of an editor; what makes
a picture untrue is other words, so those are compared. `NORTH_TEST_WRITE=1` writes the pictures, after which a person
looks at them: `python -m tests.e2e.pictures FOLDER`.
"""

import difflib
import html
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo

KEPT = Path(__file__).parents[2] / "docs" / "images"
MOST_BYTES = 150 * 1024
MOST_BYTES_ANIMATED = 1_500_000

_ANIMATION = "turn"
_PLAYS = 3
"""The animation comes to rest, since nobody can read beside one that does not."""

_PNG_TEXT = "Description"
_XMP = (
    '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
    '<rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:description>{}</dc:description>'
    "</rdf:Description></rdf:RDF></x:xmpmeta>"
)
_XMP_TEXT = re.compile(rb"<dc:description>(.*)</dc:description>", re.DOTALL)

# What differs from one run to the next: the hour, times, amounts, how full the context is.
_VARYING = re.compile(r"\b\d\d:\d\d\b|\b\d+ ?%|\d[\d.,]* ?(?:ms|s|min)\b|\b\d+\.\d+\b")


def comparable(text: str) -> list[str]:
    """Return the lines of a picture's text, without what differs between two runs."""
    lines = (" ".join(_VARYING.sub("#", line).split()) for line in text.replace("\u00a0", " ").splitlines())
    return [line for line in lines if line]


def kept_as(name: str, kept: Path = KEPT) -> Path:
    """Return the file of a picture. An animated WebP has a fifth of an animated PNG's size, and nothing is lost."""
    return kept / f"{name}.{'webp' if name == _ANIMATION else 'png'}"


def text_of(picture: Path) -> str:
    """Return the text that a picture says it shows; empty for none."""
    with Image.open(picture) as image:
        if picture.suffix == ".webp":
            found = _XMP_TEXT.search(image.info.get("xmp", b""))
            return html.unescape(found[1].decode()) if found else ""
        return str(getattr(image, "text", {}).get(_PNG_TEXT, ""))


def taken(folder: Path) -> Iterator[tuple[str, str]]:
    """Name what was taken, with the text that it shows."""
    for path in sorted(folder.glob("*.txt")):
        yield path.stem, path.read_text("utf-8")
    if (folder / f"{_ANIMATION}.json").is_file():
        yield _ANIMATION, "\n".join(frame["text"] for frame in _frames(folder))


def _frames(folder: Path) -> Sequence[dict[str, str]]:
    frames: Sequence[dict[str, str]] = json.loads((folder / f"{_ANIMATION}.json").read_text("utf-8"))
    return frames


def difference(name: str, text: str, kept: Path = KEPT) -> str:
    """Return how a picture's text differs from what is shown now; empty if it does not."""
    picture = kept_as(name, kept)
    before = text_of(picture) if picture.is_file() else ""
    names = (f"{picture.name} has", "an editor shows")
    return "\n".join(difflib.unified_diff(comparable(before), comparable(text), *names, lineterm=""))


def keep(name: str, text: str, folder: Path, kept: Path = KEPT) -> int:
    """Write a picture with its text; return its size."""
    target, told = kept_as(name, kept), "\n".join(comparable(text))
    if target.suffix == ".webp":
        frames = _frames(folder)
        first, *others = (Image.open(folder / f"{frame['name']}.frame.png").convert("RGB") for frame in frames)
        times = [int(frame["milliseconds"]) for frame in frames]
        xmp = _XMP.format(html.escape(told, quote=False)).encode()
        first.save(
            target, save_all=True, append_images=others, duration=times, loop=_PLAYS, lossless=True, xmp=xmp, method=6
        )
    else:
        info = PngInfo()
        info.add_itxt(_PNG_TEXT, told, zip=True)
        with Image.open(folder / f"{name}.png") as image:
            image.convert("RGB").save(target, optimize=True, pnginfo=info)
    return target.stat().st_size


def main(folder: Path, kept: Path = KEPT) -> int:
    """Compare or keep everything that was taken; return the exit code."""
    if os.environ.get("NORTH_TEST_WRITE") == "1":
        for name, text in taken(folder):
            size = keep(name, text, folder, kept)
            print(f"{kept_as(name).relative_to(KEPT.parents[1])}: {size // 1024} KB")
        return 0
    different = [found for name, text in taken(folder) if (found := difference(name, text, kept))]
    if different:
        print("\n\n".join(different))
        print("\nThe README's pictures have other words: run `just pictures`, and look at docs/images.")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
