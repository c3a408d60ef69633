"""A Llama of the course as an architecture of MAX's server: the modules of steps 23 to 26 over step 15's cache."""

from __future__ import annotations

from max.graph.weights import WeightsFormat

from play.serving.max.architecture import ServedModel, architecture
from play.serving.paged_llama import ServedLlama
from solutions.llama_files import load_llama


class LlamaOfMax(ServedModel):
    """The model of a GGUF file."""

    def load(self) -> ServedLlama:
        """Return the model with the weights of the file."""
        (file,) = self.pipeline_config.model.weight_path
        llama, _ = load_llama(file, self.max_seq_len)
        return ServedLlama(llama)


ARCHITECTURES = [architecture("ServedLlama", LlamaOfMax, WeightsFormat.gguf, "HuggingFaceTB/SmolLM2-135M-Instruct")]
