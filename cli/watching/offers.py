"""What ``watch`` says of a check where another terminal names a command: what a save and its keys do."""

from __future__ import annotations

from checker.parent.offers import Offers


class OffersAtSave(Offers):
    """What a learner can do next while ``watch`` looks at the file, without a terminal."""

    again = "save"
    going_on = "You may go on: the pass is kept."


class OffersByKeys(OffersAtSave):
    """What a learner can do next at a terminal, where the keys are."""

    anew = "x"

    def draws_again(self, task: str, seed: int | None, *, has_wrong_numbers: bool) -> str:
        """Return what draws the same numbers again; the key does so only if there are wrong numbers to show."""
        if has_wrong_numbers:
            return "s draws these again."
        return super().draws_again(task, seed, has_wrong_numbers=has_wrong_numbers)

    def shows_numbers(self, task: str, about: str, seed: int | None) -> str:
        """Return what shows the numbers of a function."""
        return f"Press s for the numbers of {about} side by side."
