"""The pictures of the README: each has the words that it shows, and other words are found."""

import json
import re
from pathlib import Path

import pytest
from PIL import Image

from tests.e2e import pictures

ROOT = Path(__file__).parent.parent


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What `vscode/pictures.mjs` leaves: a picture with its text, and the frames of an animation."""
    for name in ("review", "turn-00.frame", "turn-01.frame"):
        Image.new("RGB", (8, 8), "red" if name.endswith("1.frame") else "blue").save(tmp_path / f"{name}.png")
    (tmp_path / "review.txt").write_text("Accept\nReject\nRan for 0.3 s, 12 %, $0.004\n")
    frames = [{"name": f"turn-0{index}", "milliseconds": 500, "text": f"a <b>\n{index} &"} for index in (0, 1)]
    (tmp_path / "turn.json").write_text(json.dumps(frames))
    return tmp_path


def test_pictures_are_kept_with_their_text_and_are_true_until_the_words_change(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = folder / "kept"
    kept.mkdir()
    assert pictures.main(folder, kept) == 1  # there is none yet
    monkeypatch.setenv("NORTH_TEST_WRITE", "1")
    assert pictures.main(folder, kept) == 0
    monkeypatch.delenv("NORTH_TEST_WRITE")
    assert pictures.text_of(kept / "review.png").splitlines() == ["Accept", "Reject", "Ran for #, #, $#"]
    assert pictures.text_of(kept / "turn.webp").splitlines() == ["a <b>", "0 &", "a <b>", "1 &"]
    with Image.open(kept / "turn.webp") as image:
        assert (getattr(image, "n_frames", 1), image.info["loop"]) == (2, 3)

    (folder / "review.txt").write_text("Accept\n\nReject\nRan for 7 ms, 13 %, $1.50\n")
    assert pictures.main(folder, kept) == 0  # times and amounts are others each time
    (folder / "review.txt").write_text("Accept all\nReject\nRan for 7 ms, 13 %, $1.50\n")
    capsys.readouterr()
    assert pictures.main(folder, kept) == 1
    said = capsys.readouterr().out
    assert "-Accept\n+Accept all\n" in said
    assert "just pictures" in said


def test_the_pictures_of_the_readme_are_small_and_all_shown_and_have_their_words() -> None:
    there = sorted((ROOT / "docs/images").iterdir())
    readme = (ROOT / "README.md").read_text("utf-8")
    shown = re.findall(r"!\[[^\]]+\]\((docs/images/[^)]+)\)", readme)  # relative, and with words for those who see none
    assert sorted(shown) == [path.relative_to(ROOT).as_posix() for path in there] != []
    for path in there:
        most = pictures.MOST_BYTES_ANIMATED if path.suffix == ".webp" else pictures.MOST_BYTES
        assert path.stat().st_size <= most, path.name
        words = pictures.text_of(path)
        assert "once" in words, f"{path.name}: run `just pictures`"  # of the prompt that all of them show
        assert "/tmp" not in words
        with Image.open(path) as image:
            assert image.format in ("PNG", "WEBP")
