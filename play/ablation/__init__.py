"""Measure what each part of the model is worth: the bits per byte of a text if that part is left out.

It takes a checkpoint and the chapters that the model was not trained on; it returns figures, which the command prints.
The command line and maintainers' tools import it; it imports ``checker.course``, ``checker.max_adapter`` and the rest
of ``play``.
"""
