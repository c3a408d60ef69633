"""The book's Python: a chapter's blocks run one after the other, and a prompt in which any of them can be typed.

In come a chapter and the choice between the reader's step and the solution; out goes what each block prints.
The command line and the book's maker import it; it imports ``checker.course``, ``checker.max_adapter`` and
``play.modules``.
"""
