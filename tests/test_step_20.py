"""Step 20, training: what is claimed.

PyTorch trained a tiny model for 20 steps with its AdamW, and was recorded. The model has no blocks: its four weights
are two tables, a gain and a bias, so its graphs are made in no time.
"""

import itertools
import math
from functools import partial
from inspect import signature

import numpy as np
import pytest
from max.driver import CPU
from max.dtype import DType
from max.experimental.tensor import Tensor
from max.graph import BufferType, TensorType

from checker.claims import Refusal, about, equal, error_of, first_of, for_each, require
from checker.claims.modules import unwanted
from checker.compiling import compiling
from checker.max_adapter.runtime import lazily, open_device, tensor
from checker.numeric.tolerance import TOLERANCE
from solutions.solution_01 import GPT2Config
from solutions.training import TrainingState, initial_weights, scalar, training_state

TABLE, GAIN = "transformer.wte.weight", "transformer.ln_f.weight"
PYTORCH = "PyTorch's"
RATE = {"peak": 6e-4, "warmup_steps": 8, "total_steps": 24}
DRAWN = np.random.RandomState(20)
GRADIENTS = {name: DRAWN.standard_normal(shape).astype(np.float32) for name, shape in {"a": (3, 4), "b": (5,)}.items()}
LENGTH = math.sqrt(sum(float((array.astype(np.float64) ** 2).sum()) for array in GRADIENTS.values()))
STATE = ("weights", "sums", "m", "v")
MOVED = ("m", "v", "weights")  # by an update


def below(reference, prefix):
    """The recorded arrays whose names begin with ``prefix``, by the rest."""
    return {name.removeprefix(prefix): array for name, array in reference.items() if name.startswith(prefix)}


def config_of(reference):
    """The configuration of the model."""
    return GPT2Config(**{name: value.item() for name, value in below(reference, "sizes/").items()})


def settings_of(reference, *names):
    """What the recorded training was set to."""
    return {name: reference.config[name] for name in names}


@pytest.fixture
def optimizer(subject, reference):
    """The learner's, set as PyTorch's was."""
    return subject.AdamW(*settings_of(reference, "beta1", "beta2", "epsilon", "weight_decay").values())


@pytest.fixture
def schedule(reference):
    """The recorded rate of every step."""
    return lambda number: float(reference["rates"][number - 1])


def tensors(arrays):
    return {name: tensor(array) for name, array in arrays.items()}


def array(value):
    return np.from_dlpack(value).copy()


def same(actual, expected, what, tolerance=TOLERANCE, whose=PYTORCH):
    """Refuse unless dictionaries of tensors and of arrays are equal, to within ``tolerance`` of each array's size."""
    require(sorted(actual) == sorted(expected), f"{what} are of {', '.join(sorted(actual))}.", sorted(actual))
    for name, right in expected.items():
        size = float(np.abs(right).max()) or 1.0
        equal(actual[name], right, what=f"{what} of {name}", tolerance=tolerance * min(size, 1.0), whose=whose)


def number(what, actual, right):
    """Refuse unless a plain number is what it must be."""
    require(not isinstance(actual, Tensor), f"{what} is a Tensor, and must be a number.")
    require(isinstance(actual, float | int | np.floating), f"{what} is {actual!r}, and must be {right:.6g}.")
    close = math.isclose(actual, right, rel_tol=1e-9, abs_tol=1e-12)
    require(close, f"{what} is {actual:.6g}, and must be {right:.6g}.", float(actual))


def rates(subject, right, **schedule):
    """Refuse unless the rates of some steps are what they must be; as shares of the peak, all tell mistakes apart."""
    found, refusals = {at: subject.learning_rate(at, **schedule) for at in right}, []
    for at, rate in right.items():
        try:
            number(f"the rate of step {at} of {schedule['total_steps']}", found[at], rate)
        except Refusal as refusal:
            refusals.append(refusal)
    are_numbers = all(isinstance(rate, float | int | np.floating) for rate in found.values())
    observed = np.array([*found.values()]) / schedule["peak"] if are_numbers else refusals[0].sentence
    first_of(refusals, observed)


@about("learning_rate")
def test_warm_up(subject):
    """It rises in a straight line: with 8 warm-up steps, step 1 has 1/8 of the peak, step 8 all of it."""
    rates(subject, {at: 6e-4 * at / 8 for at in range(1, 9)}, **RATE)


@about("learning_rate")
def test_cosine(subject):
    """From there, it falls along half a cosine: to half the peak halfway, to 0 at total_steps, and stays 0."""
    parts = {12: (1 + math.sqrt(0.5)) / 2, 16: 0.5, 20: (1 - math.sqrt(0.5)) / 2, 24: 0.0, 30: 0.0, 48: 0.0}
    rates(subject, {at: 6e-4 * part for at, part in parts.items()}, **RATE)


@about("learning_rate")
def test_without_a_warm_up(subject):
    """With a warm-up of one step, step 1 has the peak; with none, step 1 is the first step down from it."""
    rates(subject, {1: 2.0}, peak=2.0, warmup_steps=1, total_steps=4)
    rates(subject, {1: 1 + math.sqrt(0.5), 2: 1.0}, peak=2.0, warmup_steps=0, total_steps=4)


def clipped(subject, gradients, max_norm):
    """What the learner's function returns, computed."""
    group = tensors(gradients)
    with lazily():
        result = subject.clip_by_global_norm(group, max_norm)
    require(
        isinstance(result, tuple | list) and len(result) == 2,
        "It must return the gradients and their norm.",
        str(result),
    )
    return result


@about("clip_by_global_norm")
def test_norm(subject):
    """The norm is the length of all gradients as one vector, before clipping: one float32, of shape []."""

    def right(case):
        factor, max_norm = case
        _, norm = clipped(
            subject, {name: np.float32(factor) * gradient for name, gradient in GRADIENTS.items()}, max_norm
        )
        equal(norm, np.array(factor * LENGTH, np.float32), what="the norm", whose="it must be")

    for_each(((1.0, 1.0), (0.01, 1.0), (1.0, 50.0)), right)


@about("clip_by_global_norm")
def test_norm_of_a_large_table(subject):
    """The norm of a table with 4 million numbers is right to four digits; GPT-2's wte has 38 million."""
    table = np.random.default_rng(20).standard_normal((2000, 2000), dtype=np.float32)
    right = np.sqrt(np.square(table, dtype=np.float64).sum()).astype(np.float32)
    _, norm = clipped(subject, {"table": table}, 1.0)
    # The sum of the rows' sums is off by 4e-7; one sum of all squares, by 2e-3.
    equal(norm, right, what="the norm of 4 million numbers", tolerance=1e-4, whose="it must be")


@about("clip_by_global_norm")
def test_clipped(subject):
    """Gradients that are too long are all scaled by one factor: the length is max_norm, the direction the same."""

    def scaled(max_norm):
        gradients, _ = clipped(subject, GRADIENTS, max_norm)
        right = {name: (gradient * (max_norm / LENGTH)).astype(np.float32) for name, gradient in GRADIENTS.items()}
        same(gradients, right, f"with max_norm = {max_norm}, the gradients", whose="the right number")

    for_each((1.0, 0.3), scaled)


@about("clip_by_global_norm")
def test_short_gradients(subject):
    """Gradients that are short enough stay as they are: clipping never makes them longer, and 0 stays 0."""
    for factor in (0.5, 0.0):
        short = {name: np.float32(factor) * gradient for name, gradient in GRADIENTS.items()}
        gradients, _ = clipped(subject, short, 2.5)
        same(gradients, short, "the gradients that are short enough", whose="the right number")


@about("clip_by_global_norm")
def test_a_new_dictionary(subject):
    """It returns a new dictionary; the one passed in is left unchanged."""
    group = tensors(GRADIENTS)
    given = dict(group)
    with lazily():
        subject.clip_by_global_norm(given, 1.0)
    stays = given.keys() == group.keys() and all(given[name] is group[name] for name in group)
    require(stays, "The dictionary that it was given has other gradients now; leave it as it is, and return a new one.")


def gradient_of(reference, at, name):
    """The gradient that PyTorch's AdamW got at a step, clipped."""
    factor = min(1.0, reference.config["max_norm"] / reference["norms"][at - 1])
    return (reference[f"sums_{at}/{name}"] * (factor / reference["count"])).astype(np.float32)


def before(reference, at, kind, name):
    """A recorded weight or average before a step; before the first, an average is 0."""
    if at == 1 and kind != "weights":
        return np.zeros_like(reference[f"weights_0/{name}"])
    return reference[f"{kind}_{at - 1}/{name}"]


def after_step(optimizer, weight, grad, m, v, at, lr):
    """What the learner's function makes of a weight: three tensors, by name. Older files have another order."""
    arrays = {"weight": weight, "grad": grad, "m": m, "v": v, "step": at, "lr": lr}
    with lazily():
        result = optimizer.update(**{name: tensor(np.asarray(array, np.float32)) for name, array in arrays.items()})
    if not (isinstance(result, tuple | list) and len(result) == 3):
        raise unwanted(optimizer.update, result, "weight, m and v")
    return dict(zip(("weights", "m", "v"), result, strict=True))


@about("update")
def test_update_of_a_weight(subject, reference, optimizer, schedule):
    """A table and a gain, and their averages m and v, match PyTorch's after steps 1, 2 and 20."""

    def right(case):
        at, name = case
        weight, m, v = (before(reference, at, kind, name) for kind in ("weights", "m", "v"))
        result = after_step(optimizer, weight, gradient_of(reference, at, name), m, v, at, schedule(at))
        for kind in ("m", "v"):
            same({name: result[kind]}, {name: reference[f"{kind}_{at}/{name}"]}, f"after step {at}, {kind}")
        weights = reference[f"weights_{at}/{name}"]
        close = max(1e-4 * float(np.abs(weights - weight).max()), 1e-6)
        equal(result["weights"], weights, what=f"{name} after step {at}", tolerance=close, whose=PYTORCH)

    for_each(itertools.product((1, 2, 20), (TABLE, GAIN)), right)


@about("update")
def test_first_step(subject):
    """The first step moves every number by lr, however large its gradient: m and v are corrected."""
    gradient = np.array([[1e-3, -2e-3, 5.0], [-1e2, 0.3, -0.7]], np.float32)
    zeros, right = np.zeros_like(gradient), (-0.25 * np.sign(gradient)).astype(np.float32)
    for beta1, beta2 in ((0.9, 0.95), (0.5, 0.999)):
        optimizer = subject.AdamW(beta1, beta2, 1e-9, 0.0)
        result = after_step(optimizer, zeros, gradient, zeros, zeros, 1, 0.25)["weights"]
        equal(result, right, what="the first step from 0", tolerance=1e-4, whose="it must be")


@about("update")
def test_later_steps(subject):
    """The corrections never end: with a beta2 of 0.999, v is still divided by 0.63 at step 1,000."""
    optimizer = subject.AdamW(0.99, 0.999, 1e-8, 0.0)
    weight, m, gradient = np.float32([[0.5, -2, 1], [0, 3, -1]]), np.float32([[1, -1, 2]]), np.float32([[2, 1, -3]])
    m, v, gradient = (np.repeat(each, 2, axis=0) for each in (m, m**2 + 1, gradient))
    m_hat = (0.99 * m + 0.01 * gradient) / (1 - 0.99**1000)
    v_hat = (0.999 * v + 0.001 * gradient**2) / (1 - 0.999**1000)
    right = (weight - 0.25 * m_hat / np.sqrt(v_hat)).astype(np.float32)
    result = after_step(optimizer, weight, gradient, m, v, 1000, 0.25)["weights"]
    equal(result, right, what="the weight after step 1,000", whose="it must be")


@about("update")
def test_without_settings(subject):
    """AdamW() has a beta1 of 0.9, a beta2 of 0.95, an epsilon of 1e-8, and a decay of 0.1, as in GPT-3's training."""
    gradient = np.float32([[1e-8, -3e-8, 2e-8], [4e-8, -1e-8, 5e-8]])  # next to which epsilon counts
    weight, m, v = gradient * 1e8, 2 * gradient, 3 * gradient**2
    m_hat = (0.9 * m + 0.1 * gradient) / (1 - 0.9**3)
    v_hat = (0.95 * v + 0.05 * gradient**2) / (1 - 0.95**3)
    right = weight - 0.25 * (m_hat / (np.sqrt(v_hat) + 1e-8) + 0.1 * weight)
    result = after_step(subject.AdamW(), weight, gradient, m, v, 3, 0.25)["weights"]
    equal(result, right.astype(np.float32), what="the weight after step 3 of AdamW()", whose="it must be")


@about("update")
def test_what_decays(subject):
    """With zero gradients, a matrix of any size shrinks by lr * weight_decay, and a gain or a bias stays."""
    results, right = [], []
    for lr, shape in itertools.product((0.25, 0.1), ((3, 4), (1, 1), (4, 1), (5,), (1,))):
        weight = 1 + np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        result = after_step(subject.AdamW(weight_decay=0.2), weight, *[0 * weight] * 3, 3, lr)["weights"]
        sizes = [int(size) for size in result.shape]
        require(sizes == list(shape), f"A weight of the shape {list(shape)} has the shape {sizes} after a step.")
        results.append(array(result).ravel())
        right.append((weight * (1 - lr * 0.2 if len(shape) == 2 else 1.0)).astype(np.float32).ravel())
    what = "weights without a gradient, of all shapes,"
    equal(np.concatenate(results), np.concatenate(right), ("number",), what=what, tolerance=1e-6, whose="it must be")


def at_once(graph):
    """A graph that each call traces and runs."""

    def call(*inputs, **named):
        with lazily():
            return graph(*inputs, **named)

    return call


@about("add_to_sums")
def test_sums(subject, reference):
    """Batches of 4 and 8 labels give PyTorch's sums over 12: each mean times its own count, added in place."""
    accumulate, state = subject.Accumulate(config_of(reference)), training_state(below(reference, "weights_0/"))
    sums = dict(state.sums)
    for input_ids, labels in zip(reference["input_ids"], reference["labels"], strict=True):
        at_once(accumulate)(tensor(input_ids), tensor(labels), state.weights, sums)
    for name, total in state.sums.items():
        replaced = sums[name] is not total and not array(total).any()
        sentence = f"sums[{name!r}] is another tensor now, and the one that was there has not changed."
        require(not replaced, f"{sentence} Write into that one: `[...] =`.", "sums replaced")
    same(state.sums, below(reference, "sums_1/"), "the sums")


def scalars(subject, at, lr, count):
    """The numbers that Update takes before the state; in an older file, lr comes before step."""
    lr_first = [*signature(subject.Update.forward).parameters][1] == "lr"
    return [tensor(np.array(number, np.float32)) for number in (*((lr, at) if lr_first else (at, lr)), count)]


def after_update(subject, reference, optimizer, schedule, at):
    """The norm that Update returns at a step, and the state that it has written into."""
    names = below(reference, "weights_0/")
    given = {kind: tensors({name: before(reference, at, kind, name) for name in names}) for kind in MOVED}
    state = TrainingState(
        **{kind: dict(group) for kind, group in given.items()}, sums=tensors(below(reference, f"sums_{at}/"))
    )
    update = at_once(subject.Update(optimizer, reference.config["max_norm"]))
    norm = update(*scalars(subject, at, schedule(at), reference["count"]), state)
    for kind, group in given.items():
        replaced = any(getattr(state, kind)[name] is not value for name, value in group.items())
        sentence = f"state.{kind} has other tensors now. Write into those that were there: `[...] =`."
        require(not replaced, sentence, f"{kind} replaced")
    return norm, state


@about("update")
def test_update(subject, reference, optimizer, schedule):
    """Update writes into the state: all weights, m and v match PyTorch's after steps 1 and 20."""

    def right(at):
        _, state = after_update(subject, reference, optimizer, schedule, at)
        for kind in MOVED:
            last_first = reversed(below(reference, f"{kind}_{at}/").items())  # a loop may have moved that one alone
            same(getattr(state, kind), dict(last_first), f"after step {at}, {kind}")

    for_each((1, 20), right)


@about("clip_by_global_norm")
def test_norm_of_an_update(subject, reference, optimizer, schedule):
    """Update returns the norm of the mean gradients before clipping: one float32, of shape []."""
    norm, _ = after_update(subject, reference, optimizer, schedule, 20)  # in which they are clipped
    equal(norm, reference["norms"][19].astype(np.float32), what="the norm of step 20", whose=PYTORCH)


@about("train_step")
def test_one_step(subject, reference, optimizer, schedule):
    """With Accumulate and Update, on batches of 4 and 8 labels, loss, norm and weights match PyTorch's after step 1."""
    accumulate, update = (
        subject.Accumulate(config_of(reference)),
        subject.Update(optimizer, reference.config["max_norm"]),
    )
    state = training_state(below(reference, "weights_0/"))
    batches = [tuple(map(tensor, batch)) for batch in zip(reference["input_ids"], reference["labels"], strict=True)]
    loss, norm = subject.train_step(state, 1, batches, schedule(1), at_once(accumulate), at_once(update))
    equal(np.float32(loss), reference["losses"][0].astype(np.float32), what="the loss", whose=PYTORCH)
    equal(np.float32(norm), reference["norms"][0].astype(np.float32), what="the norm", whose=PYTORCH)
    same(state.weights, below(reference, "weights_1/"), "after the step, the weights")


def trained(subject, losses, norm):
    """Call train_step, where Accumulate and Update only return numbers: what it returns, and what Update was given."""
    given, answers = [], iter(losses)

    def update(*inputs):
        given.append(inputs)
        return scalar(norm)

    state, batches = TrainingState({}, {}, {}, {}), [(None, None)] * len(losses)
    call = partial(subject.train_step, state, 3, batches, 0.25, lambda *_: tuple(map(scalar, next(answers))), update)
    return call, given


@about("train_step")
def test_what_update_is_given(subject):
    """Update is called once, with the step, the rate, the count of all losses, and the state; the loss is the mean."""
    call, given = trained(subject, ((6, 3), (0, 0), (1, 1)), 0.5)
    loss, norm = call()
    number("the loss", loss, 1.75)
    number("the norm", norm, 0.5)
    require(len(given) == 1, f"Update is called {len(given)} times for three batches.", len(given))
    numbers = [array(value).item() for value in given[0][:3]]
    require(numbers == [3, 0.25, 4], f"Update gets {numbers}, and must get step 3, rate 0.25, count 4.", numbers)


@about("train_step")
def test_no_finite_loss(subject):
    """An infinite or NaN loss, or one of no label at all, raises FloatingPointError before Update is called."""

    def right(losses):
        call, given = trained(subject, [losses], 0.5)
        what = "a step without a valid label" if losses == (0, 0) else f"a loss of {losses[0]}"
        error_of(what, call, FloatingPointError)
        require(not given, f"With {what}, Update is called, which changes the weights.", len(given))

    for_each(((math.nan, 4), (math.inf, 4), (0, 0)), right)


@about("train_step")
def test_no_finite_norm(subject):
    """An infinite or NaN norm raises FloatingPointError, too."""
    for norm in (math.inf, math.nan):
        error_of(f"a norm of {norm}", trained(subject, [(7, 4)], norm)[0], FloatingPointError)


@pytest.mark.drawn
@about("update")
def test_other_updates(subject, solution, draw):
    """With random sizes, averages and settings, the weight and its averages are right, too."""
    betas = 1 - draw.number("1 - beta1", 0.02, 0.5), 1 - draw.number("1 - beta2", 0.02, 0.5)
    options = *betas, draw.number("epsilon", 1e-4, 1e-1), draw.number("weight_decay", 0.01, 1)
    shape, at = [draw.whole("rows", 2, 6), draw.whole("columns", 2, 9)], draw.whole("step", 1, 30)
    weight, mean, square, gradient = draw.array(*shape), draw.array(*shape), draw.array(*shape) ** 2, draw.array(*shape)
    for part in (np.s_[:], np.s_[0]):
        inputs = weight[part], gradient[part], mean[part], square[part], at, 0.1
        result, right = (after_step(module.AdamW(*options), *inputs) for module in (subject, solution))
        for kind, expected in right.items():
            size = float(np.abs(array(expected)).max())
            close = TOLERANCE * max(1.0, size)
            equal(result[kind], expected, what=kind, tolerance=close, whose="the solution's")


@pytest.mark.drawn
@about("learning_rate")
def test_other_rates(subject, solution, draw):
    """The rates of a random schedule are right, too."""
    warmup_steps = draw.whole("warmup_steps", 1, 40)
    total_steps = warmup_steps + draw.whole("steps after it", 1, 200)
    options = {"peak": draw.number("peak", 1e-5, 1.0), "warmup_steps": warmup_steps, "total_steps": total_steps}
    for at in (
        1,
        (warmup_steps + 1) // 2,
        warmup_steps,
        warmup_steps + 1,
        (warmup_steps + total_steps) // 2,
        total_steps,
    ):
        right = solution.learning_rate(at, **options)
        number(f"the rate of step {at}", subject.learning_rate(at, **options), right)


def on_cpu(tensors):
    """The tensors where NumPy can read them."""
    return {name: tensor.to(CPU()) for name, tensor in tensors.items()}


def on_device(device, weights):
    """How the graphs are called on a device, and the types of their inputs."""
    target = open_device(device)
    ids, scalar = (
        TensorType(dtype, shape, device=target)
        for dtype, shape in ((DType.int64, ["batch", "seq"]), (DType.float32, []))
    )
    named = {name: BufferType(DType.float32, weight.shape, device=target) for name, weight in weights.items()}

    def called(module, *types):
        with compiling(f"{type(module).__name__} for {device}"):
            graph = module.compile(*types)
        return lambda *inputs: graph(*(value.to(target) if isinstance(value, Tensor) else value for value in inputs))

    def moved(state):
        for kind in STATE:
            setattr(state, kind, {name: value.to(target) for name, value in getattr(state, kind).items()})
        return state

    accumulate = lambda module: called(module, ids, ids, named, named)  # noqa: E731
    update = lambda module: called(module, *[scalar] * 3, TrainingState(*[named] * 4))  # noqa: E731
    return accumulate, update, moved


@pytest.mark.compiled
@about("compiled")
def test_compiled_accumulate(subject, reference, device):
    """As one graph, Accumulate adds both batches' gradients to the sums passed in, in place."""
    weights = below(reference, "weights_0/")
    accumulate, _, moved = on_device(device, weights)
    graph, state = accumulate(subject.Accumulate(config_of(reference))), moved(training_state(weights))
    total = 0.0
    for batch in zip(reference["input_ids"], reference["labels"], strict=True):
        losses, _ = graph(*map(tensor, batch), state.weights, state.sums)
        total += losses.item()
    right = reference["losses"][0].astype(np.float32)
    equal(np.float32(total / reference["count"]), right, what="the compiled loss", whose=PYTORCH)
    same(on_cpu(state.sums), below(reference, "sums_1/"), f"on {device}, the compiled sums", 1e-4)


@pytest.mark.compiled
@about("compiled")
def test_compiled_update(subject, reference, device, optimizer, schedule):
    """As one graph, Update takes PyTorch's first step: every weight, and the norm."""
    weights = below(reference, "weights_0/")
    _, update, moved = on_device(device, weights)
    graph, state = update(subject.Update(optimizer, reference.config["max_norm"])), training_state(weights)
    state.sums = tensors(below(reference, "sums_1/"))
    state = moved(state)
    norm = graph(*scalars(subject, 1, schedule(1), reference["count"]), state)
    equal(np.float32(norm.item()), reference["norms"][0].astype(np.float32), what="the compiled norm", whose=PYTORCH)
    same(on_cpu(state.weights), below(reference, "weights_1/"), f"on {device}, after the compiled step, weights")


@pytest.mark.compiled
@about("compiled")
def test_compiled_training(subject, reference, device, optimizer, schedule):
    """Twenty steps of both graphs, two batches each: every loss and norm, and the final weights, match PyTorch's."""
    weights = below(reference, "weights_0/")
    accumulate, update, moved = on_device(device, weights)
    graphs = (
        accumulate(subject.Accumulate(config_of(reference))),
        update(subject.Update(optimizer, reference.config["max_norm"])),
    )
    state = moved(training_state(weights))
    batches = [tuple(map(tensor, batch)) for batch in zip(reference["input_ids"], reference["labels"], strict=True)]
    reports = [subject.train_step(state, at, batches, schedule(at), *graphs) for at in range(1, 21)]
    for what, actual in zip(("losses", "norms"), zip(*reports, strict=True), strict=True):
        right = reference[what].astype(np.float32)
        equal(np.array(actual, np.float32), right, ("step",), what=f"the {what}", tolerance=1e-4, whose=PYTORCH)
    same(on_cpu(state.weights), below(reference, "weights_20/"), f"on {device}, after 20 steps, the weights", 1e-4)


@pytest.mark.compiled
@about("compiled")
def test_by_heart(subject, reference, device, optimizer):
    """One batch can be memorized: 60 steps bring its loss near 0."""
    config = config_of(reference)
    weights = initial_weights(config, 0)
    accumulate, update, moved = on_device(device, weights)
    graphs = accumulate(subject.Accumulate(config)), update(subject.Update(optimizer, reference.config["max_norm"]))
    batch = tuple(map(tensor, (reference["input_ids"][1], reference["labels"][1])))
    state = moved(training_state(weights))
    for at in range(1, 61):
        loss, _ = subject.train_step(state, at, [batch], 0.03, *graphs)
    require(loss < 0.3, f"After 60 steps on one batch, its loss is {loss:.2f}.", loss)
