"""The kernels of ``play/kernels`` beside MAX's operations and PyTorch's.

In come the two processes of ``tools.benchmarks.comparison``; out go tables: what the machine can do, attention without
its projections, a linear layer for few rows, and the model with the kernels and without. ``tools.main`` imports it, and
``backends`` its workloads.
"""
