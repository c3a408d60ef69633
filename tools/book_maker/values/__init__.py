"""The numbers that a chapter can show, computed from the course, its model and its benchmarks.

In come solutions, recorded figures and a small text; out go plain values. Chapters and figures use them.
"""
