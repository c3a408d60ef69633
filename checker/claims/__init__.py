"""What claims are written in: the words of every check file, and what those of modules share.

Only check files, tests, the child and maintainers' tools may import it, never the parent of a check.
"""

from checker.claims.vocabulary import (
    Refusal,
    about,
    equal,
    error_of,
    first_of,
    for_each,
    is_value,
    keeps_nothing,
    require,
)

__all__ = ["Refusal", "about", "equal", "error_of", "first_of", "for_each", "is_value", "keeps_nothing", "require"]
