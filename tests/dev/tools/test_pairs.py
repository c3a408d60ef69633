"""The counts of mistakes in pairs: kept by step, and shown with what has changed since."""

import json
import re

from checker.course.steps import find_step, steps_in_python
from tools.surveys import pairs
from tools.surveys.pairs import COUNTS, TABLE, Tally, as_markdown, record, state_of


def test_the_table_is_made_of_the_counts():
    counts = {task: Tally(**one) for task, one in json.loads(COUNTS.read_text()).items()}
    made, kept = (
        re.sub(r" (Changed since|Not counted) .*", "", text) for text in (as_markdown(counts), TABLE.read_text())
    )
    assert made == kept


def test_what_has_changed_and_what_is_missing_is_said():
    now = Tally(
        pairs=10, refused=10, both=9, rewrites=5, rewrites_refused=5, named=4, misnamed=1, wrong=["- w01: this"]
    )
    now.of = state_of(find_step("w01"))
    said = as_markdown({"w02": Tally(pairs=10, refused=10, both=10, of="another"), "w01": now})
    assert said.index("| w01 |") < said.index("| w02 |")
    assert "Both named: 95.0% of 20 pairs. Another mistake named: 20.0% of 5 alternatives" in said
    assert "Changed since they were counted: w02. Not counted yet: w03," in said
    assert said.endswith("- w01: this\n")


def test_counting_one_step_leaves_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr(pairs, "COUNTS", tmp_path / "pairs.json")
    monkeypatch.setattr(pairs, "TABLE", tmp_path / "pairs.md")
    monkeypatch.setattr(pairs, "relative_path", str)
    monkeypatch.setattr(pairs, "tally", lambda step: Tally(pairs=3, refused=3, both=3))
    (tmp_path / "pairs.json").write_text(json.dumps({"w02": vars(Tally(pairs=1))}))
    record([find_step("w01")])
    counts = json.loads((tmp_path / "pairs.json").read_text())
    assert {task: one["pairs"] for task, one in counts.items()} == {"w02": 1, "w01": 3}
    assert counts["w01"]["of"] == state_of(find_step("w01"))
    assert "Both named: 75.0% of 4 pairs." in (tmp_path / "pairs.md").read_text()


def test_every_step_in_python_can_be_counted():
    assert all(state_of(step) for step in steps_in_python())
