"""Make the book: figures, numbers, transcripts and formulas, put into its pages when mdBook builds it.

In come the chapters under ``book/src``; out go the same chapters with every directive expanded.
mdBook starts it as a preprocessor; ``tools.cli`` and tests import it.
"""
