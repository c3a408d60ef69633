"""Run the book's Python: a chapter's blocks one after another, or a prompt at which any of them can be typed.

It takes a chapter and the choice between the reader's step and the solution; it returns what each block prints.
The command line and the book's maker import it; it imports ``checker.course``, ``checker.terminal`` and
the rest of ``play``. ``chapters`` also reads the book's pages for its maker.
"""
