"""All that knows a private or patched name of MAX, for the checks and for ``play``.

In come arrays, graphs and the order to prepare; out go a MAX that runs fast and says what it compiles.
The child, ``play`` and ``tools`` may import it, the parent of a check never; it imports only ``course.paths``.
"""
