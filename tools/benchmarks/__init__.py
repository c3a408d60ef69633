"""Timings, each beside something else in the same run, as ratios.

In come the course and its peers; out go tables, and JSON files under ``figures/`` that the book shows.
Only ``tools`` and tests import it. CONTRIBUTING.md says how to take figures.
"""
