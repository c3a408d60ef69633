"""The learner's command line: a click command per task, which imports what it runs when it is called.

A command takes what was typed, prints lines, and returns an exit status. ``main`` has the check, and finds the others
by name: ``course_commands`` has those of the course, ``model_commands`` those that run the finished model. These read
what was typed; what a command of the course then does is in a module, or a folder, of its own: hint, status, reset,
compare, hunt, grade, doctor, warm, ``watching`` and ``page`` (the book with its editor). ``shared`` has what several
of all these need.
Without pixi, ``start`` comes before it: that makes ``.venv``, and runs the lines of pixi.toml. Only maintainers' tools
import it; it imports ``play`` and ``checker``.
"""
