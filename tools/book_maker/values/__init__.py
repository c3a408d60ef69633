"""The numbers that a chapter can show, computed from the course, its model and its benchmarks.

It takes solutions, recorded figures and a small text; it returns plain values. Chapters and figures use them.
"""
