"""Timings, each beside something else in the same run, as ratios.

They take the course and its peers; they make tables, and JSON files under ``figures/`` that the book shows.
Only ``tools`` and tests import them. CONTRIBUTING.md says how to take figures.
"""
