"""Kernels in Mojo, compiled into the graph of the finished model, and the modules that use them.

A model with its weights becomes the function of tokens that ``play.generation.engine`` calls. The ``.mojo``
files of this folder are one package, which MAX loads as operations; ``operations`` has a function of tensors for each.
They compute what steps 07 and 14 compute, on the CPU in float32. ``play.generation.engine``, the server (its linear
layers alone) and maintainers' tools import it; it imports ``solutions``.
"""
