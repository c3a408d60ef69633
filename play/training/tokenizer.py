"""A tokenizer that is learned from the text: byte-level BPE, as GPT-2's, so that any text can be written in it."""

from __future__ import annotations

from typing import Any

from tokenizers import Tokenizer, decoders, pre_tokenizers, processors, trainers
from tokenizers.models import BPE

from play.tokens import END_OF_TEXT


def learn_tokenizer(texts: list[str], vocab: int) -> Tokenizer:
    """Return a tokenizer of at most ``vocab`` tokens: the end of a text, 256 bytes, and merges as far as there are."""
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def tokenizer_config(positions: int) -> dict[str, Any]:
    """Return what ``tokenizer_config.json`` says to Hugging Face's transformers."""
    named = dict.fromkeys(("bos_token", "eos_token", "unk_token"), END_OF_TEXT)
    return {**named, "model_max_length": positions, "tokenizer_class": "GPT2Tokenizer"}
