"""One folder, one training."""

import pytest

from checker.files import ROOT, UNFINISHED
from play.training import places
from play.training.folder import Folder, SavedTraining
from play.training.places import STATE
from play.training.plan import History
from solutions.training import initial_weights
from tests.dev.play.training.conftest import CONFIG, PLAN


def test_a_folder_has_one_training_and_is_whole_or_not_there(tokenizer, tmp_path):
    path = tmp_path / "in" / "training"
    saved = SavedTraining(PLAN, History(), 0, {"weights": initial_weights(CONFIG, 3)})
    with places.new(path) as (place, _):
        with pytest.raises(ValueError, match=r"another training is beginning in .*; give"), places.new(path):
            pass
        (place / "of-another-program.txt").touch()
        path.mkdir(parents=True)  # somebody else does, and uses it
        (path / "theirs").touch()
        with pytest.raises(ValueError, match=r"could not be made \(.* not empty\), and nothing of it"):
            Folder(path, place).begin(CONFIG, tokenizer, saved)
    assert [*tmp_path.rglob("*")] == [path.parent, path, path / "theirs"]
    (path / "theirs").unlink()
    (place := places.unfinished(path)).mkdir()  # one that was killed has left it
    (place / f"{STATE}.7{UNFINISHED}").touch()
    (theirs := place / f"notes{UNFINISHED}").touch()
    with pytest.raises(ValueError, match=rf"{place}, which holds {theirs.name}; give"), places.new(path):
        pass
    theirs.unlink()  # which nobody else has
    path.chmod(0o700)
    with places.new(path):
        assert [*path.iterdir()] == []
        Folder(path, place).begin(CONFIG, tokenizer, saved)
        assert path.stat().st_mode & 0o777 == 0o700
        for another, problem in ((places.new, "holds a training already"), (places.resumed, "is running; wait")):
            with pytest.raises(ValueError, match=problem), another(path):
                pass
    assert [*tmp_path.rglob(f"*{UNFINISHED}")] == []
    with places.resumed(path), pytest.raises(ValueError, match="is running; wait"), places.resumed(path):
        pass
    with places.resumed(path):
        assert Folder(path).load()[0].step == 0


def test_a_folder_that_holds_something_is_refused_by_name(begin):
    path = begin("a b").folder.path
    with pytest.raises(ValueError, match=rf"holds a training already\. Add --resume '{path}' to continue it"):
        places.require_new(path)
    for path in (ROOT / "README.md", ROOT / "README.md" / "in"):
        with pytest.raises(ValueError, match=r"is not empty|cannot be written"):
            places.require_new(path)
