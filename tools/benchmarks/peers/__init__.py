"""The libraries that a user would pick instead of this course's model, with the same weights and prompts, in turns.

In come seeded weights, and packages from their registries; out go figures by processor, which the book shows. Only
``tools`` and tests import it. Each library has an environment of its own under ``.peers/``.
"""
