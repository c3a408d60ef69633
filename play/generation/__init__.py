"""Text that a model writes: by GPT-2's ``engine`` or Llama's ``talker``, printed by ``generate`` or ``chat``.

It ends at the token that ``streaming`` or the ``talker`` knows as the end; one of the server's, which MAX writes, also
before a stop of its request, which ``stops`` finds.
"""
