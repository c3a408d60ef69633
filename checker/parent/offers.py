"""What a check offers a learner to do next, in words, wherever it is shown."""

from __future__ import annotations


class Offers:
    """What a learner can do next, in a terminal's words; ``watch``, a hunt and the page have their own.

    Attributes:
        again: gets another verdict.
        going_on: what may be done while MAX compiles what has passed.
        anew: writes another file in place of one that cannot be read.
        not_begun: what to do if a check cannot begin.
        not_compiled: what to do if MAX compiles for too long.
    """

    again = "run this again"
    going_on = "You may go on: Ctrl-C keeps the pass."
    anew = "`./run skeletons`"
    not_begun = "`./run doctor` says more."
    not_compiled = "Check it again when the machine has less to do; `./run warm` has no limit."

    def draws_again(self, task: str, seed: int | None, *, has_wrong_numbers: bool) -> str:
        """Return what draws the same numbers again, or nothing if there is no way to."""
        return f"`./run {task} --seed {seed}` draws these again."

    def shows_numbers(self, task: str, about: str, seed: int | None) -> str:
        """Return what shows the numbers of a function, which were drawn if there is a seed."""
        drawn = "" if seed is None else f" --seed {seed}"
        return f"`./run {task} --show {about}{drawn}` shows the numbers side by side."

    def passed(self, seconds: float, solution: str, left_out_by: str) -> str:
        """Return that a file has passed, and the option that left the compiled verdict out, if one did."""
        partly = f", not compiled: {left_out_by} left that verdict out" if left_out_by else ""
        return f"Pass ({seconds:.1f} s){partly}. Compare with {solution}."
