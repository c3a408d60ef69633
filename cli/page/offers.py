"""What the page says of a check where a terminal names a command: what its buttons do."""

from __future__ import annotations

from collections.abc import Collection

from checker.events import Mark
from checker.parent.offers import Offers
from checker.parent.records import RecordView

ANEW = "Reset"  # writes another file in place of one that cannot be read


class OffersOnPage(Offers):
    """What a learner can do next on the page."""

    again, anew = "check again", ANEW
    going_on = "You may go on: Stop keeps the pass."
    not_begun = "Check again when the machine has less to do."
    not_compiled = "Check it again when the machine has less to do."

    def draws_again(self, task: str, seed: int | None, *, has_wrong_numbers: bool) -> str:
        """Return what draws the same numbers again; the button is there only if there are wrong numbers to show."""
        return "Show numbers draws these again." if has_wrong_numbers else ""

    def shows_numbers(self, task: str, about: str, seed: int | None) -> str:
        """Return what shows the numbers of a function."""
        return "Show numbers puts them side by side."

    def passed(self, seconds: float, solution: str, left_out_by: str) -> str:
        """Return that a file has passed, but not compiled; else nothing: the time and a button are there already."""
        return f"Pass ({seconds:.1f} s), not compiled. Compare with {solution}." if left_out_by else ""


class PageView(RecordView):
    """Hands on the parts of a check in the page's words."""

    offers = OffersOnPage()
    folds: Collection[Mark] = (Mark.FAIL,)  # the page folds claims that pass itself
