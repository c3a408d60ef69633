"""Kernels in Mojo, compiled into the graph of the finished model, and the modules that use them.

The ``.mojo`` files of this folder are one package, which MAX loads as operations. ``operations`` has a function of
tensors for each, which refuses shapes that do not fit; ``modules`` builds step 14's model with them. They compute what
steps 07 and 14 compute, on the CPU in float32. In: a model with its weights. Out: a function for ``play.engine``.
"""
