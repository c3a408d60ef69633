"""What ``watch`` says of a check where another terminal names a command: what a save and its keys do."""

from __future__ import annotations

from checker.parent.offers import IN_TERMINAL, Offers

#: While ``watch`` looks at the file, without a terminal.
AT_SAVE = Offers(
    again="save",
    going_on="You may go on: the pass is kept.",
    anew=IN_TERMINAL.anew,
    of_old_file=IN_TERMINAL.of_old_file,
    not_begun=IN_TERMINAL.not_begun,
    not_compiled=IN_TERMINAL.not_compiled,
    draws_again=IN_TERMINAL.draws_again,
    draws_again_unshown=IN_TERMINAL.draws_again_unshown,
    shows_numbers=IN_TERMINAL.shows_numbers,
    passed=IN_TERMINAL.passed,
    passed_uncompiled=IN_TERMINAL.passed_uncompiled,
)

#: At a terminal, where the keys are: ``s`` shows numbers only if some are wrong.
BY_KEYS = Offers(
    again="save",
    going_on="You may go on: the pass is kept.",
    anew="x",
    of_old_file="x writes today's skeleton, and keeps your file beside it.",
    not_begun=IN_TERMINAL.not_begun,
    not_compiled=IN_TERMINAL.not_compiled,
    draws_again="s draws these again.",
    draws_again_unshown=IN_TERMINAL.draws_again_unshown,
    shows_numbers="Press s for the numbers of {about} side by side.",
    passed=IN_TERMINAL.passed,
    passed_uncompiled=IN_TERMINAL.passed_uncompiled,
)
