"""The small model of the course: what it can be trained on beside *Moby Dick*, and how well it predicts.

It takes packages with old texts and the folder of a model; it gives texts, and the figures of the model's card.
Maintainers' commands and tests import it; it imports ``play``, ``solutions`` and ``tools.benchmarks``.
"""
