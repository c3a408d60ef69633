"""The learner's command line: a click command per task, which imports what it runs when it is called.

A command takes what was typed, prints lines, and returns an exit status. ``main`` has the check, and finds the others
by name: ``course_commands`` has those of the course, ``model_commands`` those that run the finished model, all made of
``parts``. What they call is in modules of its own: hint, status, reset, compare, hunt, doctor and warm, ``watch`` (of
``keyboard``, ``saves`` and ``editor``), ``grading`` and ``page`` (the book with its editor), which share ``background``
(checks in threads) and ``programs``.
Without pixi, ``start`` comes before it: that makes ``.venv``, and runs the lines of pixi.toml. Only maintainers' tools
import it; it imports ``play`` and ``checker``.
"""
