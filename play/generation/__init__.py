"""Text that a model writes: by GPT-2's ``engine`` or Llama's ``talker``, printed by ``generate`` or ``chat``."""
