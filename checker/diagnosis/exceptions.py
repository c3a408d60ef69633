"""An exception of the learner's code in a sentence or two: what happened, and what MAX calls what was meant."""

from __future__ import annotations

import functools
import inspect
import re
import traceback

LONGEST = 300  # characters of a message

#: What people who know PyTorch or NumPy try first, and what to write instead.
ADVICE = {
    r"unexpected keyword argument '(dim|dims)'": "MAX's word for it is axis.",
    r"no attribute 'tri[ul]'": "MAX has F.band_part; with exclude=True it keeps what is outside a band.",
    r"no attribute 'masked_fill_?'": "Add the mask to the scores, or use F.where.",
    r"no attribute 'view'": "MAX's word for it is reshape.",
    r"no attribute 'contiguous'": "MAX needs none: leave it out.",
    r"no attribute 'size'": "MAX's word for it is shape.",
    r"no attribute 'cat'": "MAX's word for it is concat.",
    r"transpose\(\) takes \d+ positional arguments": "transpose swaps two axes; permute([0, 2, 1, 3]) orders all.",
    r"reshape\(\) takes \d+ positional arguments": "reshape takes one list: reshape([2, 3]).",
    r"permute\(\) takes \d+ positional arguments": "permute takes one list: permute([0, 2, 1]).",
    r"(SymbolicDim|AlgebraicDim)' and|and '(SymbolicDim|AlgebraicDim)'|dims to index into a list": (
        "A size taken from a shape is no number but may be a symbol; where a number is needed and the size is always "
        "the same, as the head width is, say int(...). NumPy and math cannot work with the others."
    ),
    r"Invalid approximation method": "F.gelu knows approximate='none', 'tanh' and 'quick'.",
    r"values to unpack": "F.split takes the sizes of the parts, F.split(x, [n, n], axis=-1); F.chunk their number.",
}


class AnswerWasRead(ImportError):
    """The learner's file tried to open the solution that it is to be compared with."""


def error_in_words(error: BaseException) -> str:
    """What to print about an exception: its kind, its message without MAX's internals, and advice."""
    if isinstance(error, SystemExit):
        return "Your code ends the program (sys.exit or exit). Remove that; the check needs what comes after."
    if isinstance(error, AnswerWasRead):
        return f"Your file {error}. Write your own, and compare with it when the check says yes."
    message = _without_internals(str(error)) or "without a message"
    advice = " ".join(words for pattern, words in ADVICE.items() if re.search(pattern, message))
    said = [f"{type(error).__name__}: {message}", advice or signature_in_words(error)]
    return ". ".join(filter(None, said))


def signature_in_words(error: BaseException) -> str:
    """Of a call with wrong arguments, how it is made: ``The signature is LayerNorm(dim, *, eps=1e-05).``"""
    called = re.match(r"(\w+(?:\.\w+)*?)(?:\.__init__)?\(\) (?:takes|missing|got)", str(error))
    if not isinstance(error, TypeError) or not called:
        return ""
    name, *path = called[1].split(".")
    for frame, _ in reversed([*traceback.walk_tb(error.__traceback__)]):
        if name in frame.f_globals:
            try:
                signature = inspect.signature(functools.reduce(getattr, path, frame.f_globals[name]))
            except (AttributeError, TypeError, ValueError):  # written in C, or another thing of that name
                return ""
            bare = [parameter.replace(annotation=parameter.empty) for parameter in signature.parameters.values()]
            return f"The signature is {called[1]}{inspect.Signature(bare)}."
    return ""


def _without_internals(message: str) -> str:
    """Of a graph operation that could not be made, its name and the diagnosis; of anything else, one line."""
    made = re.match(r"Failed to create op '(\w+?)(?:Op)?':.*?Diagnostics:\s*(.*?)\n", message, re.DOTALL)
    if made:
        diagnosis = re.sub(r"#mosh<ape(\[.*?\])> : !mosh\.ape", r"\1", made[2]).partition(". Insert an explicit")[0]
        message = f"{made[1]}: {diagnosis}."
    message = " ".join(message.split())
    return message if len(message) <= LONGEST else f"{message[:LONGEST]} …"
