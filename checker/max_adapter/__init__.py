"""Everything that uses a private or patched name of MAX, for the checks and for ``play``.

It takes arrays, graphs and the order to prepare; it gives a MAX that runs fast, what it compiles, and what was lost.
The child, ``play`` and ``tools`` may import it; the parent of a check never does. Of ours it imports only
``course.steps``, ``machine`` and ``installed``. ``messages`` does not import MAX, and ``contract`` does so only when it
is asked.
"""
