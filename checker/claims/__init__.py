"""The child: runs the claims of a step beside the learner's code, and reports what they say.

It takes a job from the parent, the check file of a step, and the module to grade; it sends events, with an outcome for
every claim. Only check files, tests and maintainers' tools may import it, never the parent of a check.
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
