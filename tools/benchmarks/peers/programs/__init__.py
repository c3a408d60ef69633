"""What runs inside the environment of a peer: one program for each library, which answers as ``backends.py`` does.

In come requests, a line of JSON each; out go answers. A program imports its library, NumPy, and of ours
``tools.benchmarks.backends`` alone.
"""
