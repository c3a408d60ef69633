"""For maintainers: benchmarks, the book's maker, training, locks, surveys.

They take the repository and other libraries; they make recorded files, figures, and the book.
Nothing in the learner's program imports them; tests do.
"""
