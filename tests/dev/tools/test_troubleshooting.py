"""What the chapter on troubleshooting quotes is what the tools say."""

import re

from checker.course.languages import PYTHON
from checker.course.paths import ROOT
from checker.max_adapter.messages import ADVICE
from play.reading.chapters import SRC

CHAPTER = (SRC / "troubleshooting.md").read_text()
SOURCES = "\n".join(
    path.read_text()
    for path in [
        ROOT / "run",
        *(path for folder in ("checker", "play", "solutions") for path in (ROOT / folder).rglob("*.py")),
    ]
).replace("{stop}", PYTHON.stop)


def test_every_message_that_begins_a_paragraph_is_somewhere_in_the_tools():
    quoted = [message for message in re.findall(r"^\*\*`([^`]+)`", CHAPTER, re.MULTILINE) if "()" not in message]
    assert len(quoted) > 10
    for message in quoted:
        for part in message.split("…"):
            assert part.strip() in SOURCES, f"nothing says {part.strip()!r} any more, of {message!r}"


def test_every_advice_of_the_check_is_shown():
    shown = " ".join(CHAPTER.split())
    for advice in ADVICE.values():
        assert advice in shown, f"add to the attempts in troubleshooting.md one that is answered by: {advice}"
