"""Conversations, rewinding and exporting as a person sees them in Neovim; the screens are kept as pictures."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.nvim.drawing import draw
from tests.e2e.nvim.screen import Screen
from tests.e2e.nvim.test_plugin import REPLACE, Bed, bed

__all__ = ["bed"]

IDLE = r"North · agent(?! ·)"
ARTIFACTS = Path(__file__).parents[1] / "artifacts" / "nvim"


@pytest.fixture
def keep() -> Callable[[str, Screen], None]:
    """Keep what the screen shows, for people to look at."""

    def kept(name: str, screen: Screen) -> None:
        ARTIFACTS.mkdir(parents=True, exist_ok=True)
        (ARTIFACTS / f"{name}.txt").write_text(screen.text())
        draw(screen.colored(), ARTIFACTS / f"{name}.png")

    return kept


def run(screen: Screen, command: str) -> None:
    screen.write(f":{command}")
    screen.keys("Enter")


def say(screen: Screen, text: str, answer: str) -> None:
    run(screen, f"North ask {text}")
    screen.wait_for(answer)
    screen.wait_for(IDLE)


def test_a_conversation_is_found_and_shown(bed: Bed, keep: Callable[[str, Screen], None]) -> None:
    with bed.screen(rows=40) as screen:
        screen.wait_for("SALUTATION")
        say(screen, "explain greet", "It also occurs in")
        run(screen, "North new")
        screen.wait_until_gone("It also occurs in")
        say(screen, "list files", "Listed")
        run(screen, "North conversations")
        screen.wait_for(r"1: .*list files")
        screen.wait_for(r"2: .*explain greet")
        keep("conversations", screen)
        screen.write("2")
        screen.keys("Enter")
        screen.wait_for("Resume|Open")
        keep("conversation-chosen", screen)
        screen.write("1")
        screen.keys("Enter")
        screen.wait_for("It also occurs in")
        screen.wait_for(IDLE)
        keep("conversation-shown", screen)


def test_going_back_with_files(bed: Bed, keep: Callable[[str, Screen], None]) -> None:
    with bed.screen(rows=40) as screen:
        screen.wait_for("SALUTATION")
        say(screen, "explain greet", "It also occurs in")
        run(screen, f"North ask {REPLACE}")
        screen.wait_for(r"asks \(:North review\)")
        run(screen, "North review")
        screen.wait_for("ga Accept")
        screen.keys("Enter")
        screen.write("ga")
        screen.wait_for("I replaced")
        screen.wait_for(IDLE)
        run(screen, "North rewind")
        screen.wait_for(r"2: .*You: replace")
        keep("rewind", screen)
        screen.write("2")
        screen.keys("Enter")
        screen.wait_for("Conversation and files")
        keep("rewind-files", screen)
        screen.write("1")
        screen.keys("Enter")
        screen.wait_until_gone("I replaced")
        screen.wait_for(IDLE)
        screen.wait_for('SALUTATION = "Hello"')
        keep("rewound", screen)
        run(screen, "North tree")
        screen.wait_for(r"1: ")
        keep("tree", screen)


def test_an_export_is_opened(bed: Bed, keep: Callable[[str, Screen], None]) -> None:
    with bed.screen(rows=40) as screen:
        screen.wait_for("SALUTATION")
        say(screen, "explain greet", "It also occurs in")
        run(screen, "North export talk.md")
        screen.wait_for("^North: exported to talk.md; keys and your home folder are masked$")
        keep("export", screen)
        run(screen, "edit talk.md")
        screen.wait_for("explain greet")
        keep("exported", screen)


def test_two_conversations_and_what_each_asks(bed: Bed, keep: Callable[[str, Screen], None]) -> None:
    with bed.screen(rows=34) as screen:
        screen.wait_for("SALUTATION")
        run(screen, f"North ask {REPLACE}")
        screen.wait_for(r"asks \(:North review\)")
        run(screen, "North tab")
        screen.wait_for("North 2 · agent")
        run(screen, "North ask run `touch made`")
        screen.wait_for("North 2 asks to run this command")
        keep("second-conversation", screen)
        run(screen, "North live")
        screen.wait_for(r"1: North 1: replace.*\(asks you, tab page 1\)")
        screen.wait_for(r"2: North 2: run.*\(asks you, here\)")
        keep("open-conversations", screen)
        screen.write("1")
        screen.keys("Enter")
        screen.wait_for("Go to it")
        screen.write("1")
        screen.keys("Enter")
        screen.wait_for("North 1 · agent · asks")
        run(screen, "North review inline")
        screen.wait_for("ga Accept")
        screen.write("ge")
        screen.wait_for("What comes here")
        keep("changing-what-comes", screen)
