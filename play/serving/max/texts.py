"""MAX's writing of texts, made to follow OpenAI's interface where MAX 26.7.0 does not: choices, stops and counts."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from typing import Any

from max.pipelines.context import GenerationStatus
from max.pipelines.modeling.types import TextGenerationRequest
from max.serve.pipelines.llm import TokenGeneratorOutput, TokenGeneratorPipeline

from play.generation.stops import Stops
from play.serving.request_log import CURRENT
from play.serving.validation import SEED_OF_ZERO

Chunks = AsyncGenerator[TokenGeneratorOutput, None]


def seed_of(seed: int, choice: int) -> int:
    """Return the seed of one of several choices, as vLLM has it: the request's seed plus the number of the choice."""
    asked = 0 if seed == SEED_OF_ZERO else seed
    return (asked + choice) % 2**63 or SEED_OF_ZERO


class Texts(TokenGeneratorPipeline):
    """Writes the texts of all requests, each in pieces.

    The choices of one prompt have seeds of their own, and its tokens are counted once. A text ends before the first
    stop that is in it. Tokens are noted in the record of the request as they come, so that they are known of a request
    whose client leaves, too.
    """

    async def next_token_chunk(self, request: TextGenerationRequest, **how: Any) -> Chunks:
        """Hand a request to the process that runs the model, and return the pieces of its text."""
        record, sampling = CURRENT.get(), request.sampling_params
        number = request.request_id.value.partition("_")[2]  # which MAX gives each text, unless there can be only one
        choice = int(number or 0) % record.choices
        alone = replace(sampling, seed=seed_of(sampling.seed, choice), stop=None)
        pieces = await super().next_token_chunk(replace(request, sampling_params=alone), **how)
        if not choice:
            record.prompt_tokens += len(request.prompt or ())
        return self._until_stop(pieces, sampling.stop or (), choice)

    async def _until_stop(self, pieces: Chunks, stops: Sequence[str], choice: int) -> Chunks:
        record, finder = CURRENT.get(), Stops(stops)
        try:
            async for piece in pieces:
                record.generated_tokens += piece.token_count
                text, stopped = finder.feed(piece.decoded_tokens or "", piece.status.is_done)
                status = GenerationStatus.END_OF_SEQUENCE if stopped else piece.status
                counted = None if choice else piece.prompt_token_count
                yield replace(piece, decoded_tokens=text or None, status=status, prompt_token_count=counted)
                if stopped:
                    return
        finally:
            await pieces.aclose()  # which ends the text at the model, too
