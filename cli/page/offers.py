"""What the page says of a check where a terminal names a command: what its buttons do."""

from __future__ import annotations

from checker.parent.offers import Offers

WRITER = "Reset"  # the button that writes another file in place of one that cannot be read

#: The button that shows numbers is there only if some are wrong; the time, and a button to compare, are there already.
ON_PAGE = Offers(
    how_to_check_again="check again",
    going_on="You may go on: Stop keeps the pass.",
    writer=WRITER,
    of_old_file=f"{WRITER} writes today's skeleton, and keeps your file beside it.",
    not_begun="Check again when the machine has less to do.",
    not_compiled="Check it again when the machine has less to do.",
    draws_again="Show numbers draws these again.",
    draws_again_unshown="",
    shows_numbers="Show numbers puts them side by side.",
    passed="",
    passed_uncompiled="Pass ({seconds:.1f} s), not compiled. Compare with {solution}.",
)
