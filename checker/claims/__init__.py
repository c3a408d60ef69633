"""The words that claims are written in (``vocabulary``), and how claims about modules of MAX run them (``modules``).

Only check files, tests, the child and maintainers' tools may import this package, never the parent of a check.
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
