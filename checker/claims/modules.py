"""Run the learner's modules: build them with given weights, call them on arrays, compile them.

Modules are built under ``F.lazy()``, and their random weights are replaced before they are ever computed. A whole
forward pass is one graph, which takes a third of the time of one graph per operation.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from max.driver import CPU
from max.dtype import DType
from max.experimental import functional as F
from max.experimental.nn import Linear, Module
from max.experimental.random import set_seed
from max.experimental.tensor import Tensor, TensorType

from checker.claims.vocabulary import Refusal, article, close, equal, hint_on, keeps_nothing, require
from checker.compiling import compiling
from checker.device import DeviceKind
from checker.max_adapter.runtime import lazily, open_device, tensor
from checker.numeric.comparison import in_brackets

LONGEST_LIST = 200  # characters of parameter names


def build(kind: Callable[..., Any], *arguments: Any, weights: Mapping[str, np.ndarray] | None = None) -> Any:
    """Return an instance of the learner's class, with ``weights`` copied in by name.

    Without weights, an ``__init__`` may be only partly written: the attributes that it sets before the blank are there,
    so the other methods can be tried.

    Raises:
        Refusal: a weight has no place in the module, or its place has another shape.
    """
    set_seed(0)  # a weight that no checkpoint has keeps its random numbers, and fails each time alike
    if weights is None and isinstance(kind, type):
        instance: Any = object.__new__(kind)
        with suppress(NotImplementedError), F.lazy():
            instance.__init__(*arguments)
        return instance
    with F.lazy():
        instance = kind(*arguments)
    for name, array in (weights or {}).items():
        load(instance, name, array, weights or ())
    return instance


def shapes_of(module: Module[..., Any]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the weights of a module, by name."""
    return {name: tuple(int(size) for size in weight.shape) for name, weight in module.parameters}


def has_only(module: Module[..., Any], names: Collection[str]) -> None:
    """Refuse a module with a weight that is not among ``names``, also if it is another's second name."""
    weights = dict(module.parameters)
    first_names = {id(weight): name for name, weight in weights.items() if name in names}
    for name, weight in weights.items():
        if name in names:
            continue
        first = first_names.get(id(weight))
        if first:
            fault = f"is {first} under a second name, which no checkpoint has: keep it once, in no list beside it"
        elif "." in name:
            fault = "no checkpoint has"
        else:
            fault = "is a tensor on self, so MAX takes it for a weight, and no checkpoint has it: make it in forward"
        raise Refusal(
            f"{type(module).__name__} has {name}, which {fault}. Step 13 could not load a checkpoint that way.", name
        )


def load(module: Module[..., Any], name: str, array: np.ndarray, names: Collection[str] = ()) -> None:
    """Put a weight at its dotted ``name`` in a module; ``names`` are those of all weights that the module must have."""
    *path, leaf = name.split(".")
    owner: Any = module
    for part in path:
        owner = _part_named(owner, part)
        if isinstance(owner, type) and issubclass(owner, Module):
            raise Refusal(f"{part} is a class; it must be an object of that class: {_call_of(owner)}.")
    old = getattr(owner, leaf, None)
    if not isinstance(old, Tensor):
        hint = _weights_it_has(module, name, array.shape, names)
        if isinstance(owner, Linear) and leaf == "bias":
            hint = " Was it made with bias=False?"
        raise Refusal(f"{type(module).__name__} has no {name}, which Hugging Face's checkpoint does have.{hint}")
    shape = tuple(int(size) for size in old.shape)
    if shape != array.shape:
        raise Refusal(f"{name} has the shape {in_brackets(shape)}, and must have {in_brackets(array.shape)}.")
    setattr(owner, leaf, tensor(array))


def _weights_it_has(
    module: Module[..., Any], absent_name: str, absent_shape: tuple[int, ...], names: Collection[str]
) -> str:
    """Return as a sentence which weights a module has in place of an absent one; nothing if it has none."""
    there = shapes_of(module)
    for name, shape in there.items():
        words = _words_that_differ(name, absent_name)
        if name not in names and shape == absent_shape and len(words) == 1:
            word, right_word = words[0]
            return f" It has {name}: rename {word} to {right_word}."
    listed = ", ".join(there)
    if len(listed) >= LONGEST_LIST:
        ends_alike = [name for name in there if name.split(".")[-2:] == absent_name.split(".")[-2:]]
        listed = ends_alike[0] if ends_alike else ""
    return f" It has {listed}." if listed else ""


def _call_of(kind: type) -> str:
    """Return in code how an object of a class is made, with the arguments that it needs."""
    parameters = inspect.signature(kind).parameters.values()
    return f"{kind.__name__}({', '.join(each.name for each in parameters if each.default is each.empty)})"


def _part_named(owner: Any, name: str) -> Any:
    """Return the attribute of a module, or element of a list, that a word of a weight's name stands for; or None."""
    if name.isdigit() and not hasattr(owner, name):
        with suppress(TypeError, IndexError):
            return owner[int(name)]
    return getattr(owner, name, None)


def _words_that_differ(name: str, absent_name: str) -> list[tuple[str, str]]:
    """Return the pairs of words in which two weights' names differ; none if one name has more words."""
    words, absent_words = name.split("."), absent_name.split(".")
    if len(words) != len(absent_words):
        return []
    return [pair for pair in zip(words, absent_words, strict=True) if pair[0] != pair[1]]


def run(function: Callable[..., Any], *arguments: np.ndarray | float) -> Any:
    """Call the learner's function as one graph, on tensors and plain numbers; return the tensor that it returns.

    Raises:
        Refusal: the result is not a tensor, or a module has more weights after the call.
    """
    before = _weights_of(function)
    with lazily():
        result = function(*(value if isinstance(value, int | float) else tensor(value) for value in arguments))
    if not isinstance(result, Tensor):
        raise unwanted(function, result, "a Tensor")
    if extras := sorted(_weights_of(function) - before):
        raise Refusal(
            f"forward keeps {' and '.join(extras)} on self, where MAX takes tensors for weights: use a plain variable."
        )
    return result


def _weights_of(function: Callable[..., Any]) -> set[str]:
    """Return the names of the weights of a module; a plain function has none."""
    return {name for name, _ in function.parameters} if isinstance(function, Module) else set()


def past_stays(module: Module[..., Any], x: np.ndarray, changed_x: np.ndarray, right: np.ndarray) -> None:
    """Refuse a module unless all rows of its result but the last stay the same when the last token is changed.

    Args:
        module: the module, called with ``x`` and then with ``changed_x``; the second time, the texts come in reverse
            order, to notice anything that is kept from the first call.
        x: one text for each row of the first axis.
        changed_x: the same texts with other last tokens.
        right: the right result for ``x``.
    """
    before: np.ndarray = np.from_dlpack(run(module, x))
    after: np.ndarray = np.from_dlpack(run(module, np.ascontiguousarray(changed_x[::-1])))[::-1]
    if after.shape == before.shape and not close(after[:, :-1], before[:, :-1]):
        keeps_nothing(lambda x: run(module, x), x, right=lambda x: right)
    equal(after[:, :-1], before[:, :-1], what="the rows before the changed token", whose="what it was before")
    require(bool(np.abs(after[:, -1] - before[:, -1]).max() > 1e-3), "The last row does not depend on the last token.")


def unwanted(function: Callable[..., Any], result: Any, wanted: str, returned: str = "") -> Refusal:
    """Return the refusal of a function's result: ``returned`` says in words what it is, or else its type does."""
    name = getattr(function, "__qualname__", type(function).__name__)
    is_claims = "<" in name or getattr(function, "__module__", "").startswith("test_")
    name = "It" if is_claims else name  # the name of a claim's own lambda or class means nothing to a learner
    returned = returned or ("None" if result is None else article(type(result).__name__))
    return Refusal(f"{name} returns {returned}, and must return {wanted}.{hint_on(result)}")


def compiled(
    module: Module[..., Any],
    *shapes: Sequence[str | int],
    device: str,
    dtype: DType | Sequence[DType] = DType.float32,
) -> Callable[..., Any]:
    """Return the module compiled into one graph, as a function of arrays; names in ``shapes`` are symbolic.

    Args:
        module: the module; if it returns several tensors, so does the function.
        shapes: the shapes of the inputs.
        device: the kind of device, or its word.
        dtype: the dtype of all inputs, or one for each.
    """
    target = open_device(device)
    if DeviceKind(device) is not DeviceKind.CPU:
        module.to(target)
    dtypes = [dtype] * len(shapes) if isinstance(dtype, DType) else dtype
    types = [TensorType(kind, list(shape), device=target) for kind, shape in zip(dtypes, shapes, strict=True)]
    with compiling(f"your module for {device}"):
        graph = module.compile(*types)

    def call(*arrays: np.ndarray) -> Any:
        result = graph(*(tensor(array).to(target) for array in arrays))
        return result.to(CPU()) if isinstance(result, Tensor) else tuple(part.to(CPU()) for part in result)

    return call
