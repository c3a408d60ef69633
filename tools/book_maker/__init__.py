"""Make the book: figures, numbers, transcripts and formulas, put into its pages when mdBook builds it.

It takes the chapters under ``book/src``; it returns the same chapters with every directive expanded.
mdBook starts it as a preprocessor; ``tools.main`` and tests import it.
"""
