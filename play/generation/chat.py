"""Talk with a Llama: one question, or a conversation.

Standard output gets only the answers, as they come; everything else goes to standard error.
"""

from __future__ import annotations

import secrets
import shlex
import sys
import time
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from checker.course.steps import CHAT, LLAMA
from checker.errors import UserError
from play.mine.stand_ins import is_refusal
from play.options import ModelOptions
from play.signals import noting_every_ctrl_c
from play.smollm2 import SMOLLM2, is_llama, llama_file
from play.startup import Tell, in_utf8, ready_to_run, usable_kernels

if TYPE_CHECKING:  # at run time only once it is decided whose modules the talker imports
    from numpy.random import Generator

    from play.generation.talker import Talker
    from solutions.solution_27 import Message, NucleusSampling


@dataclass(frozen=True, kw_only=True)
class ChatOptions(ModelOptions):
    """Which model answers, and how."""

    system: str | None  # what the model is told first; None: that it is SmolLM
    max_new_tokens: int
    temperature: float  # 0: the likeliest token
    top_p: float  # 1: all tokens
    seed: int | None  # None: one that is drawn
    context: int  # the most tokens of a conversation


def answer_questions(question: str | None, tell: Tell, options: ChatOptions) -> None:
    """Answer a question or, without one, each line that is typed; ``tell`` everything but the answers.

    Raises:
        ValueError: the model cannot be fetched or read, does not answer, a setting makes no sense, or there is no input
            to read questions from; or the learner's steps cannot run: see :func:`play.startup.ready_to_run`.
    """
    if question is None and sys.stdin is None:
        raise UserError("standard input is closed, so there is nothing to read; `./run chat QUESTION` takes one")
    started = time.perf_counter()
    with ready_to_run(tell, [*LLAMA, CHAT], options.own):
        file = model_file(options.model, tell)
        kernels = usable_kernels(options, tell)
        from numpy.random import default_rng

        from play.generation.talker import Talker
        from solutions.solution_27 import NucleusSampling

        seed = secrets.randbelow(2**31) if options.seed is None else options.seed
        sampling = NucleusSampling(options.temperature, top_p=options.top_p)
        talker = Talker(file, options.device, options.context, kernels=kernels)
    conversation = Conversation(talker, sampling, default_rng(seed), options.max_new_tokens)
    if options.system is not None:
        conversation.messages.append(("system", options.system))
    drawn = f"; this conversation has --seed {seed}" if options.temperature else ""
    tell(f"ready after {time.perf_counter() - started:.1f} s{drawn}")
    if question is None:
        tell("ask something; Ctrl-C ends an answer, and an empty line or Ctrl-D the conversation.")
        converse(conversation, tell)
    else:
        conversation.ask(question, tell)


def model_file(model: str | Path, tell: Tell) -> Path:
    """Return the GGUF file of a model, see :func:`llama_file`.

    Raises:
        UserError: it cannot be fetched, or is no file.
    """
    if not is_llama(model):
        raise UserError(
            f"{model} is no GGUF file, so it does not answer; `./run generate --model {shlex.quote(str(model))}` "
            f"continues texts with a GPT-2, and `./run chat --model {SMOLLM2}` answers"
        )
    return llama_file(model, tell)


@dataclass
class Conversation:
    """A conversation: the messages so far, and the model that answers."""

    talker: Talker
    sampling: NucleusSampling
    rng: Generator
    max_new_tokens: int
    messages: list[Message] = field(default_factory=list, init=False)

    def ask(self, question: str, tell: Tell, *, stoppable: bool = False) -> None:
        """Print the answer to a question, and remember both; ``tell`` what is forgotten, and if the answer is cut.

        Args:
            question: the user's message.
            tell: told everything that is no answer.
            stoppable: let Ctrl-C end the answer, and nothing else.

        Raises:
            UserError: the question is too long.
        """
        messages = [*self.messages, ("user", question)]
        kept = self.talker.recent(messages)
        if forgotten := len(messages) - len(kept):
            tell(f"the context is full; the oldest {forgotten} messages are forgotten")
        said = ""
        with noting_every_ctrl_c() if stoppable else nullcontext() as stopped:
            for piece in self.talker.answer(kept, self.sampling, self.rng, self.max_new_tokens):
                said += piece
                print(piece, end="", flush=True)
                if stopped and stopped.is_set():
                    break
        print(flush=True)
        if (count := self.talker.cut_after) is not None:
            limit = "--max-new-tokens" if count == self.max_new_tokens else "--context"
            tell(f"the answer is cut after {count} tokens; a larger {limit} lets it go on")
        self.messages = [*kept, ("assistant", said)]


def converse(conversation: Conversation, tell: Tell) -> None:
    """Answer one question after another until there is no more input; ``tell`` why one cannot be answered."""
    while True:
        print("> ", end="", file=sys.stderr, flush=True)
        question = sys.stdin.readline().rstrip("\n")
        if not question:
            return
        try:
            conversation.ask(in_utf8(question), tell, stoppable=True)
        except ValueError as error:
            if not is_refusal(error):
                raise
            tell(str(error))
