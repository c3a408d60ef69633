"""What models after GPT-2 changed, as edits of the solutions: all else in a variant is the course's own code.

It takes the texts of the solutions; it returns the edited texts, the diffs that the book shows, and modules that run.
The book's maker and tests import it; it imports ``checker.course``.
"""
