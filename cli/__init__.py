"""The learner's command line: a click command per task, which imports what it runs when it is called.

A command takes arguments, prints lines, and returns an exit status. ``main`` finds it by its name: ``check`` checks a
step, ``course_commands`` has the commands of the course, ``model_commands`` those that run the finished model. These
modules read the arguments; the work of a command of the course is in a module, or a folder, of its own: hint, status,
reset, compare, hunt, grade, doctor, warm, ``watching`` and ``page`` (the book with its editor). ``shared`` has parts
that several commands need.
Without pixi, ``start`` comes before all of them: it makes ``.venv``, and runs the lines of pixi.toml. Only maintainers'
tools import this package; it imports ``play`` and ``checker``.
"""
