"""The folder of a training: a checkpoint in Hugging Face's layout, and a file from which the training is resumed.

``training.safetensors`` holds everything that a resumed training needs, in one file: weights, moving averages, and as
its metadata the plan and what has been reported. A save writes it last, so what else is in the folder is never older:
``config.json``, the tokenizer, ``model.safetensors`` with the weights, ``training.json`` with all figures,
``loss.html`` with the curve, and in the folder ``best`` the same model as it was when its validation loss was lowest.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save
from tokenizers import Tokenizer

from checker.errors import UserError
from checker.files import UNFINISHED, write_durably
from play.tokens import END_OF_TEXT, end_of_text, load_tokenizer
from play.training import places
from play.training.curve import as_page
from play.training.places import BEST, CONFIG, MODEL, STATE, TOKENIZER, TOKENIZER_CONFIG
from play.training.plan import CURVE, FIGURES, History, Plan
from solutions.checkpoint import CONV1D, Weights
from solutions.solution_01 import GPT2Config


@dataclass
class SavedTraining:
    """The state from which a training is resumed."""

    plan: Plan
    history: History
    step: int
    groups: dict[str, Weights]  # weights, and the moving averages: means and squares

    @property
    def is_over(self) -> bool:
        """Whether its last step is done."""
        return self.step >= self.plan.steps


class Folder:
    """The folder of one training, which :mod:`play.training.places` keeps from any other.

    Args:
        path: where it is, or will be once it is whole.
        unfinished: where it is made.
    """

    def __init__(self, path: Path, unfinished: Path | None = None) -> None:
        self.path, self.unfinished = path, unfinished or places.unfinished(path)

    def begin(self, config: GPT2Config, tokenizer: Tokenizer, saved: SavedTraining) -> None:
        """Make the folder with everything that belongs in it.

        Raises:
            UserError: the disk is full, say; then it is not there.
        """
        made, whole = Folder(self.unfinished), self.path.resolve()
        try:
            for place in (made.path, made.path / BEST):
                place.mkdir(exist_ok=True)
                for name, content in _model_files(saved.plan, config, tokenizer).items():
                    write_durably(place / name, content)
            made.save(saved, best=True)
            for left in made.path.rglob(f"*{UNFINISHED}"):  # of a training that was killed
                left.unlink()
            whole.parent.mkdir(parents=True, exist_ok=True)
            if whole.exists():  # it is empty, and may be closed to others
                made.path.chmod(whole.stat().st_mode)
            made.path.rename(whole)
        except OSError as error:
            raise UserError(
                f"{self.path} could not be made ({error.strerror}), and nothing of it is left. Make room there, or "
                "give another --out, and start again"
            ) from error

    def save(self, saved: SavedTraining, *, best: bool) -> None:
        """Write the state of a training; ``best`` says that its weights are the best so far.

        Raises:
            OSError: the disk is full, say; a training that is resumed goes on from the last save.
        """
        figures = {"plan": asdict(saved.plan), "step": saved.step, **asdict(saved.history)}
        layout = in_hugging_faces_layout(saved.groups["weights"])
        if best:
            self._make_best()
        model = save({name: array.astype(saved.plan.dtype) for name, array in layout.items()}, {"format": "pt"})
        for place in (self.path, self.path / BEST) if best else (self.path,):
            write_durably(place / MODEL, model)
        rounded = figures | {"losses": [round(loss, 5) for loss in saved.history.losses]}
        write_durably(self.path / FIGURES, json.dumps(rounded).encode())
        if saved.history.losses:
            write_durably(self.path / CURVE, as_page(figures, self.path.name).encode())
        state = {f"{group}/{name}": array for group, arrays in saved.groups.items() for name, array in arrays.items()}
        write_durably(self.path / STATE, save(state, {"training": json.dumps(figures)}))

    def _make_best(self) -> None:
        """Make the folder of the best weights, if somebody has deleted it, with what belongs beside them."""
        (self.path / BEST).mkdir(exist_ok=True)
        for name in (CONFIG, TOKENIZER_CONFIG, TOKENIZER):
            if not (self.path / BEST / name).exists():
                write_durably(self.path / BEST / name, (self.path / name).read_bytes())

    def load(self) -> tuple[SavedTraining, Tokenizer]:
        """Return the state from which the training is resumed, and its tokenizer.

        Raises:
            UserError: its files are damaged, or are not those of a training.
        """
        file = self.path / STATE
        try:
            with safe_open(file, "np") as opened:
                figures = json.loads(opened.metadata()["training"])
                groups: dict[str, Weights] = {}
                for name in opened.keys():  # noqa: SIM118, it is not a dict
                    group, _, rest = name.partition("/")
                    groups.setdefault(group, {})[rest] = opened.get_tensor(name)
            history = History(**{field.name: figures[field.name] for field in fields(History)})
            saved = SavedTraining(Plan(**figures["plan"]), history, figures["step"], groups)
        except (OSError, SafetensorError, TypeError, KeyError, ValueError) as error:
            raise UserError(
                f"{file} is damaged, or is not a training file ({error}); begin again with another --out"
            ) from error
        return saved, load_tokenizer(self.path)


def in_hugging_faces_layout(weights: Weights) -> Weights:
    """Return weights as a checkpoint has them: Conv1D stores [in, out]. The head is tied, so it is left out."""
    return {name: np.ascontiguousarray(array.T) if name.endswith(CONV1D) else array for name, array in weights.items()}


def _model_files(plan: Plan, config: GPT2Config, tokenizer: Tokenizer) -> dict[str, bytes]:
    """Return by name what ``from_pretrained`` and this course's ``load_pretrained`` read beside the weights."""
    config_json = {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        **asdict(config),
        "activation_function": "gelu_new",
        **dict.fromkeys(("attn_pdrop", "embd_pdrop", "resid_pdrop"), 0.0),
        **dict.fromkeys(("bos_token_id", "eos_token_id"), end_of_text(tokenizer)),
        "tie_word_embeddings": True,
        "dtype": plan.dtype,
    }
    tokenizer_config = {
        **dict.fromkeys(("bos_token", "eos_token", "unk_token"), END_OF_TEXT),
        "model_max_length": plan.positions,
        "tokenizer_class": "GPT2Tokenizer",  # a name that every version of transformers knows
    }
    return {
        CONFIG: json.dumps(config_json, indent=2).encode(),
        TOKENIZER_CONFIG: json.dumps(tokenizer_config, indent=2).encode(),
        TOKENIZER: tokenizer.to_str(pretty=True).encode(),
    }
