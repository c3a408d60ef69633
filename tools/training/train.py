"""Train the small GPT-2 of this course on Moby Dick, on a CPU, and save it in Hugging Face's layout.

The book is small: given time, the model would learn it by heart. Against that there are dropout, weight
decay, and the dev chapters: the weights that are kept are those that predicted them best.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, pre_tokenizers, processors, trainers
from tokenizers.models import BPE
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from transformers.utils.logging import disable_progress_bar

from tools.training.corpus import read_corpus
from tools.training.evaluate import model_bits

END = "<|endoftext|>"
LENGTH = 256  # tokens per window, and n_positions
BATCH = 8  # windows per step
PEAK = 2e-3  # the highest learning rate
WARM_UP = 0.03  # of the training, from nothing to the peak; then a cosine down to nothing
DEV_EVERY = 200  # steps
DEV_STRIDE = 128


def make_tokenizer(chapters: list[str], vocabulary: int) -> PreTrainedTokenizerFast:
    """Return a byte-level BPE tokenizer, as GPT-2's, learned from ``chapters``: any text can be written in it."""
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(chapters, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=END, eos_token=END, unk_token=END, model_max_length=LENGTH
    )


def windows(tokenizer: PreTrainedTokenizerFast, chapters: list[str]) -> Iterator[torch.Tensor]:
    """Yield batches of consecutive tokens, epoch after epoch, forever: each ``[BATCH, LENGTH + 1]``.

    Every epoch has the chapters in another order, cut at other places.
    """
    backend = tokenizer.backend_tokenizer
    encoded = [[backend.token_to_id(END), *backend.encode(chapter).ids] for chapter in chapters]
    while True:
        tokens = [token for chapter in random.sample(encoded, len(encoded)) for token in chapter]
        tokens = tokens[random.randrange(LENGTH) :]
        starts = list(range(0, len(tokens) - LENGTH, LENGTH))
        random.shuffle(starts)
        for at in range(0, len(starts) - BATCH + 1, BATCH):
            yield torch.tensor([tokens[start : start + LENGTH + 1] for start in starts[at : at + BATCH]])


def make_optimizer(model: GPT2LMHeadModel) -> torch.optim.AdamW:
    """Return AdamW that decays matrices and embeddings, but neither biases nor the gains of the layer norms."""
    parameters = list(model.parameters())
    groups: list[dict[str, Any]] = [
        {"params": [parameter for parameter in parameters if parameter.dim() > 1], "weight_decay": 0.1},
        {"params": [parameter for parameter in parameters if parameter.dim() == 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=PEAK, betas=(0.9, 0.98), fused=True)


def learning_rate(progress: float) -> float:
    """Return the learning rate when ``progress`` (0 to 1) of the training is done."""
    if progress < WARM_UP:
        return PEAK * (progress + 1e-3) / WARM_UP
    return PEAK * 0.5 * (1 + math.cos(math.pi * min(1.0, (progress - WARM_UP) / (1 - WARM_UP))))


def save(model: GPT2LMHeadModel, tokenizer: PreTrainedTokenizerFast, out: Path) -> None:
    """Write the files that ``from_pretrained`` reads, the weights in float32."""
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    settings = out / "tokenizer_config.json"
    named = json.loads(settings.read_text()) | {"tokenizer_class": "GPT2Tokenizer"}  # a name every version knows
    settings.write_text(json.dumps(named, indent=2, sort_keys=True) + "\n")


def train_step(model: GPT2LMHeadModel, optimizer: torch.optim.AdamW, batch: torch.Tensor, rate: float) -> float:
    """Take one step at learning rate ``rate`` on a ``[BATCH, LENGTH + 1]`` batch; return the loss in nats per token."""
    model.train()
    for group in optimizer.param_groups:
        group["lr"] = rate
    with torch.autocast("cpu", torch.bfloat16):  # the weights and the optimizer stay in float32
        logits = model(batch[:, :-1]).logits  # [BATCH, LENGTH, vocab]
    loss = torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), batch[:, 1:].flatten())
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


@dataclass(frozen=True)
class Options:
    """What a training run can be told: its text, where the model goes, when it ends, and how it learns."""

    text: Path
    out: Path
    steps: int
    minutes: float
    threads: int
    seed: int
    vocabulary: int
    dropout: float


def train(options: Options) -> None:
    """Train, and keep in ``options.out`` the weights that predict the dev chapters best."""
    disable_progress_bar()
    random.seed(options.seed)
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    corpus = read_corpus(options.text)
    tokenizer = make_tokenizer(corpus.train, options.vocabulary)
    end = tokenizer.backend_tokenizer.token_to_id(END)
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=LENGTH,
        n_embd=192,
        n_layer=5,  # unequal to n_head, so that a mix-up shows
        n_head=6,
        resid_pdrop=options.dropout,
        embd_pdrop=options.dropout,
        attn_pdrop=options.dropout,
        bos_token_id=end,
        eos_token_id=end,
    )
    model = GPT2LMHeadModel(config)
    optimizer = make_optimizer(model)
    batches = windows(tokenizer, corpus.train)
    print(f"{model.num_parameters():,} parameters, {len(tokenizer)} tokens", flush=True)
    start, least, progress, step = time.perf_counter(), math.inf, 0.0, 0
    while progress < 1:
        loss = train_step(model, optimizer, next(batches), learning_rate(progress))
        step += 1
        minutes = (time.perf_counter() - start) / 60
        progress = max(step / options.steps, minutes / options.minutes)
        if step % DEV_EVERY == 0 or progress >= 1:
            dev = model_bits(model.eval(), tokenizer, corpus.dev, DEV_STRIDE)
            print(f"step {step}  {minutes:.1f} min  train {loss:.3f} nats per token  dev {dev:.4f} bpb", flush=True)
            if dev < least:
                least = dev
                save(model, tokenizer, options.out)
    print(f"best: {least:.4f} bits per byte of the dev chapters, in {options.out}")
