"""What a training reads: texts and their parts, a tokenizer, and windows whose order depends on the step alone."""

import json

import pytest

from checker.course.steps import SMALL_MODEL
from play.training.texts import CHAPTERS, DEV, TEST, moby_dick_corpus, read_corpus

EVALUATION = json.loads((SMALL_MODEL / "evaluation.json").read_text())


def test_moby_dick_is_there_and_cut_as_the_model_card_says():
    corpus = moby_dick_corpus()
    sizes = {part: sum(len(text.encode()) for text in getattr(corpus, part)) for part in ("train", "dev", "test")}
    assert sizes == {part: EVALUATION["bytes"][part] for part in sizes}
    assert (list(DEV), list(TEST)) == (EVALUATION["chapters"]["dev"], EVALUATION["chapters"]["test"])
    assert len({*corpus.train, *corpus.dev, *corpus.test}) == CHAPTERS


def test_the_last_tenth_of_a_text_is_held_out_and_nothing_of_what_is_learned_besides(tmp_path):
    texts = ["".join(f"line {number}\n" for number in range(100)), "ein Wal im Meer ü " * 50]
    files = [tmp_path / f"{number}.txt" for number in range(2)]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text, encoding="utf-8-sig")  # its mark is no part of the text
    corpus = read_corpus(files, files[:1])
    for text, first, second in zip(texts, corpus.train, corpus.dev, strict=True):
        assert first + second == text
        assert 0.05 * len(text) < len(second) <= 0.1 * len(text) + 1
    assert corpus.train[0].endswith("\n")
    assert (corpus.test, corpus.also, read_corpus(files).also) == ([], texts[:1], [])
    assert read_corpus([], files[:1]).train == moby_dick_corpus().train


def test_a_file_that_is_missing_is_said_of_the_option_that_names_it(tmp_path):
    missing = tmp_path / "none.txt"
    for option, files in {"--text": [[missing]], "--also": [[], [missing]]}.items():
        with pytest.raises(ValueError, match=f"none.txt cannot be read .*; give {option} a file"):
            read_corpus(*files)
