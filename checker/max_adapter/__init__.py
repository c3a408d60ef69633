"""Everything that uses a private or patched name of MAX, for the checks and for ``play``.

It takes arrays, graphs and the order to hook in; it gives a MAX that runs fast, what it compiles, and what was lost.
The child, ``play`` and ``tools`` may import it; the parent of a check never does. Of ours it imports only
``compiling``, ``files``, ``machine``, ``packages``, and of ``course`` ``steps``. ``max_errors`` and ``tracing`` do not
import MAX, and ``try_hooks`` does so only when it is asked.
"""
