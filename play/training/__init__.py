"""Training with the course's own code: a GPT-2 that learns a text, in MAX alone.

It takes texts and a plan (sizes, steps, learning rate, seed); it prints lines of progress and makes a folder in Hugging
Face's layout that ``generate`` and ``transformers`` take, and from which a training can be resumed. The command line,
the rest of ``play`` and maintainers' tools import it; it imports ``checker.course``, ``checker.max_adapter``
and the rest of ``play``.
"""
