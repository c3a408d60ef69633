"""For maintainers: benchmarks, the book's maker, training, locks, surveys.

In come the repository and other libraries; out go recorded files, figures, the book.
Nothing of the learner's program imports it; tests do.
"""
