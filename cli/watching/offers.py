"""What ``watch`` says of a check where another terminal names a command: what a save and its keys do."""

from __future__ import annotations

from dataclasses import replace

from checker.parent.offers import IN_TERMINAL

#: While ``watch`` looks at the file, without a terminal.
AT_SAVE = replace(IN_TERMINAL, how_to_check_again="save", going_on="You may go on: the pass is kept.")

#: At a terminal, where the keys are: ``s`` shows numbers only if some are wrong.
BY_KEYS = replace(
    AT_SAVE,
    writer="x",
    of_old_file="x writes today's skeleton, and keeps your file beside it.",
    draws_again="s draws these again.",
    draws_again_unshown="s draws these again.",
    shows_numbers="Press s for the numbers of {about} side by side.",
)
