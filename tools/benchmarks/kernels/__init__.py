"""The kernels of ``play/kernels``, and what bounds them: how fast memory is read, and how fast the cores multiply.

``measuring`` starts ``with_max`` and ``with_torch``, has them take turns, and makes tables; ``./run bench-kernels`` and
the book's values import it.
"""
