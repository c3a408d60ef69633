"""Offers: the words by which a check tells a learner what to do next, for each place where checks are shown."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Offers:
    """What a learner can do next, in the words of one place where checks are shown.

    Words that are known only later stand in braces, and are filled in by ``str.format``.

    Attributes:
        how_to_check_again: how to get another verdict.
        going_on: what may be done while MAX compiles a file that has passed.
        writer: what writes another file in place of one that cannot be read.
        of_old_file: what to do about a file that is older than the present step, whose ``task`` checks it.
        not_begun: what to do if a check cannot begin.
        not_compiled: what to do if MAX compiles for too long.
        draws_again: how to draw the numbers of a ``seed`` again for a ``task``.
        draws_again_unshown: how to draw them again if none can be shown; nothing if there is no way to.
        shows_numbers: how to show the numbers of a function, ``about``; ``drawn`` is the option that draws them again.
        passed: that a file has passed, after so many ``seconds``, and where the ``solution`` is; or nothing.
        passed_uncompiled: that a file has passed, and the option ``left_out_by`` left the compiled verdict out.
    """

    how_to_check_again: str
    going_on: str
    writer: str
    of_old_file: str
    not_begun: str
    not_compiled: str
    draws_again: str
    draws_again_unshown: str
    shows_numbers: str
    passed: str
    passed_uncompiled: str


IN_TERMINAL = Offers(
    how_to_check_again="run this again",
    going_on="You may go on: Ctrl-C keeps the pass.",
    writer="`./run skeletons`",
    of_old_file="`./run reset {task}` writes today's skeleton, and keeps your file beside it.",
    not_begun="`./run doctor` says more.",
    not_compiled="Check it again when the machine has less to do; `./run warm` has no limit.",
    draws_again="`./run {task} --seed {seed}` draws these again.",
    draws_again_unshown="`./run {task} --seed {seed}` draws these again.",
    shows_numbers="`./run {task} --show {about}{drawn}` shows the numbers side by side.",
    passed="Pass ({seconds:.1f} s). Compare with {solution}.",
    passed_uncompiled=(
        "Pass ({seconds:.1f} s), not compiled: {left_out_by} left that verdict out. Compare with {solution}."
    ),
)
