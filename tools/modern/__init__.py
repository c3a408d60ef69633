"""What models after GPT-2 changed, as edits of the solutions: each variant is the course's own code but for its edits.

In come the texts of the solutions; out go the edited texts, the diffs that the book shows, and modules that run. The
book's maker, the benchmarks and tests import it; it imports ``checker.course``.
"""
