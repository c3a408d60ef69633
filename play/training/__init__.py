"""Training with the course's own code: a GPT-2 that learns a text, in MAX alone.

In come texts and a plan (sizes, steps, learning rate, seed); out go lines of progress and a folder in Hugging Face's
layout that ``generate`` and ``transformers`` take, and that a training can go on from. The command line, the rest of
``play`` and maintainers' tools import it; it imports ``checker.course``, ``checker.max_adapter``,
``checker.session.waiting``, ``checker.interrupts`` and the rest of ``play``.
"""
