"""The libraries that ``./run bench`` compares, a program for each: how it runs workloads on a checkpoint.

In comes the folder of a job; into it go numbers and times. ``tools.benchmarks.turns`` starts the programs.
"""
