"""Given in step 27: the tokenizer of a GGUF file, a byte-pair encoding as in warm-up 06 with control tokens beside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gguf
from tokenizers import AddedToken, Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence

#: How a text is cut before tokens are merged, by llama.cpp's name for it; in "smollm", each digit is a token.
CUTS = {
    "gpt-2": ByteLevel(add_prefix_space=False),
    "smollm": Sequence([Digits(individual_digits=True), ByteLevel(add_prefix_space=False)]),
}


def tokenizer_of(fields: Mapping[str, Any]) -> Tokenizer:
    """Return the tokenizer that a file describes by its fields.

    It never makes a control token of text: what looks like ``<|im_end|>`` stays the ten characters that somebody wrote.
    ``token_to_id("<|im_end|>")`` is the token that ends a message.
    Raise ValueError if it is of a kind that is unknown here; the message names it.
    """
    model, cut = fields.get("tokenizer.ggml.model"), fields.get("tokenizer.ggml.pre")
    if model != "gpt2" or cut not in CUTS:
        raise ValueError(f"the tokenizer is {model} with {cut}; known here is gpt2 with {' or '.join(CUTS)}")
    tokens, kinds = fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.token_type"]
    merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(BPE({token: number for number, token in enumerate(tokens)}, merges))
    tokenizer.pre_tokenizer = CUTS[cut]
    tokenizer.decoder = ByteLevelDecoder()
    control = [token for token, kind in zip(tokens, kinds, strict=True) if kind == gguf.TokenType.CONTROL]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in control])
    tokenizer.encode_special_tokens = True  # as text
    return tokenizer
