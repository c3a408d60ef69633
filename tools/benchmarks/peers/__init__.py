"""The libraries that ``./run bench`` compares, a program for each: what it loads, and how it answers requests.

In come a folder of models and workloads; out go numbers and times. ``tools.benchmarks.preparing`` starts the programs.
"""
