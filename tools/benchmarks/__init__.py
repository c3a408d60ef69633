"""Timings, each beside something else in the same run, as ratios.

In come the course and its peers; out go tables, and JSON files under ``figures/`` that README and book show.
Only ``tools`` and tests import it.
"""
