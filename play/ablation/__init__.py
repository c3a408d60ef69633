"""What each part of the model is worth: the bits per byte of a text with one part after the other left out.

In come a checkpoint and the chapters that it was not trained on; out go figures, which the command prints. The command
line and maintainers' tools import it; it imports ``checker.course``, ``checker.max_adapter``,
``checker.session.waiting`` and the rest of ``play``.
"""
