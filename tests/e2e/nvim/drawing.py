"""Draws what a terminal shows, with its colors, as a picture for people to look at."""

import re
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

_SGR = re.compile(r"\x1b\[([\d;:]*)m")
_FONT = "DejaVuSansMono.ttf"
_SIZE = 15
_INK, _PAPER = (224, 226, 234), (20, 22, 27)  # Neovim's default colors


def _font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    try:
        return ImageFont.truetype(_FONT, _SIZE)
    except OSError:
        return ImageFont.load_default(_SIZE)


class _Pen:
    """The colors that the escape sequences so far have set."""

    def __init__(self) -> None:
        self.ink, self.paper = _INK, _PAPER
        self.is_reversed = False

    def take(self, codes: str) -> None:
        numbers = [int(code or 0) for code in codes.replace(":", ";").split(";")]
        while numbers:
            match numbers:
                case [38, 2, r, g, b, *rest]:
                    self.ink = (r, g, b)
                case [48, 2, r, g, b, *rest]:
                    self.paper = (r, g, b)
                case [0, *rest]:
                    self.ink, self.paper, self.is_reversed = _INK, _PAPER, False
                case [7 | 27 as number, *rest]:
                    self.is_reversed = number == 7
                case [39, *rest]:
                    self.ink = _INK
                case [49, *rest]:
                    self.paper = _PAPER
                case [_, *rest]:
                    pass
            numbers = rest

    @property
    def colors(self) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        return (self.paper, self.ink) if self.is_reversed else (self.ink, self.paper)


def draw(text: str, target: Path) -> None:
    """Draw the rows of a terminal, with escape sequences of colors, into a PNG file."""
    font, rows = _font(), text.rstrip("\n").split("\n")
    width, height = round(font.getlength("M")), _SIZE + 4
    columns = max(len(_SGR.sub("", row)) for row in rows)
    image = Image.new("RGB", (columns * width, len(rows) * height), _PAPER)
    pencil, pen = ImageDraw.Draw(image), _Pen()
    for number, row in enumerate(rows):
        column = 0
        for place, piece in enumerate(_SGR.split(row)):
            if place % 2:
                pen.take(piece)
                continue
            ink, paper = pen.colors
            for letter in piece:
                x, y = column * width, number * height
                pencil.rectangle((x, y, x + width, y + height), fill=paper)
                pencil.text((x, y + 1), letter, fill=ink, font=font)
                column += 1
    image.save(target)
