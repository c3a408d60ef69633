"""Everything that uses a private or patched name of MAX, for the checks and for ``play``.

``hooks`` and the two stores make MAX fast, and keep what it compiles; ``runtime`` uses it. The child, ``play`` and
``tools`` may import this package; the parent of a check never does. Of ours it imports only ``compiling``, ``files``,
``machine``, ``packages``, and of ``course`` ``steps``. ``max_errors`` and ``tracing`` do not import MAX, and
``try_hooks`` does so only when it is called.
"""
