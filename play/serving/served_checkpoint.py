"""The checkpoint that is served: a GPT-2, or a Llama in a GGUF file, for which the files are written that MAX wants."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from checker.errors import UserError
from checker.files import replacing
from checker.max_adapter.runtime import cache_key
from play.checkpoints import usable_checkpoint, usable_llama
from play.serving.options import ServerOptions
from play.smollm2 import SMOLLM2, cache_folder, is_llama, llama_file
from play.startup import Tell
from play.tokens import ForThreads, load_tokenizer
from solutions.checkpoint import checkpoint_files, read_config
from solutions.gguf_tokenizer import tokenizer_of
from solutions.solution_27 import END, START, Message, chat_ids

EOS = "tokenizer.ggml.eos_token_id"


@dataclass(frozen=True)
class Checkpoint:
    """A model that can be served."""

    name: str  # under which requests ask for it
    architecture: str  # the module of play.serving.max that has it
    task: str  # what checks the model without the server
    folder: Path  # where MAX finds config.json and tokenizer.json
    files: Sequence[Path]  # the weights
    n_positions: int  # tokens of its longest text
    vocab_size: int
    tokenizer: Tokenizer

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text."""
        ids: list[int] = ForThreads(self.tokenizer).encode(text).ids
        return ids

    @property
    def answers(self) -> bool:
        """Whether the model was trained on step 27's ChatML."""
        return None not in (self.tokenizer.token_to_id(START), self.tokenizer.token_to_id(END))

    def encode_chat(self, messages: Sequence[Message]) -> list[int]:
        """Return the tokens of a conversation, up to where the answer begins."""
        tokenizer: Any = ForThreads(self.tokenizer)
        return [int(token) for token in chat_ids(tokenizer, messages)[0]]


def checkpoint_of(options: ServerOptions, tell: Tell) -> Checkpoint:
    """Return the model that the options name; SmolLM2 is fetched if need be, and ``tell`` says so.

    Raises:
        ValueError: it cannot be found, fetched or read, or a file of it does not fit the others; the message says why.
    """
    return _llama(options, tell) if is_llama(options.model) else _gpt2(options)


def _gpt2(options: ServerOptions) -> Checkpoint:
    folder = usable_checkpoint(options.model).resolve()  # MAX looks for files of a relative one inside it
    config = read_config(folder)
    return Checkpoint(
        name=folder.name if Path(options.model).is_dir() else str(options.model),
        architecture="gpt2",
        task="s15",
        folder=folder,
        files=checkpoint_files(folder),
        n_positions=min(options.context, config.n_positions),
        vocab_size=config.vocab_size,
        tokenizer=load_tokenizer(folder),
    )


def _llama(options: ServerOptions, tell: Tell) -> Checkpoint:
    file = llama_file(options.model, tell)
    config, fields = usable_llama(file)
    tokenizer = tokenizer_of(fields)
    ends = {fields.get(EOS), tokenizer.token_to_id(END)} - {None}
    settings = {"architectures": ["ServedLlama"], "model_type": "llama", "eos_token_id": sorted(ends)}
    return Checkpoint(
        name=SMOLLM2 if str(options.model) == SMOLLM2 else file.stem,
        architecture="llama",
        task="s25",
        folder=_written(
            {
                "config.json": json.dumps(settings | asdict(config)),
                "tokenizer.json": tokenizer.to_str(),
                "tokenizer_config.json": json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}),
            }
        ),
        files=[file.resolve()],
        n_positions=min(options.context, config.max_position_embeddings),
        vocab_size=config.vocab_size,
        tokenizer=tokenizer,
    )


def _written(files: dict[str, str]) -> Path:
    """Return a folder with these files, in the user's cache, under a name that is made of their contents.

    Raises:
        UserError: they cannot be written.
    """
    folder = cache_folder() / f"served-{cache_key(json.dumps(files))}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            with replacing(folder / name) as unfinished:
                unfinished.write_text(text, "utf-8")
    except OSError as error:
        raise UserError(f"{folder}, where MAX reads what the GGUF file says, cannot be written ({error})") from error
    return folder
