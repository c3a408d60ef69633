"""Step 20, training: what is claimed.

PyTorch trained a tiny model for 20 steps with its AdamW, and was recorded. The model has no blocks: its four weights
are two tables, a gain and a bias, so its graphs are made in no time. With a block, ``tests/dev/tools/test_training.py``
compares the 20 steps.
"""

import itertools
import math

import numpy as np
import pytest
from max.driver import CPU
from max.dtype import DType
from max.experimental.tensor import Tensor
from max.graph import BufferType, TensorType

from checker.claims import Refusal, about, equal, first_of, is_value, require
from checker.claims.modules import run
from checker.max_adapter.runtime import compiling, lazily, open_device, tensor
from checker.numeric.tolerance import TOLERANCE
from solutions.solution_01 import GPT2Config
from solutions.solution_16 import cross_entropy

TABLE, GAIN = "transformer.wte.weight", "transformer.ln_f.weight"
PYTORCH = "PyTorch's"
RATE = {"peak": 6e-4, "warmup_steps": 8, "total_steps": 24}
DRAWN = np.random.RandomState(20)
GRADIENTS = {name: DRAWN.standard_normal(shape).astype(np.float32) for name, shape in {"a": (3, 4), "b": (5,)}.items()}
LENGTH = math.sqrt(sum(float((array.astype(np.float64) ** 2).sum()) for array in GRADIENTS.values()))
STATE = ("weights", "sums", "means", "squares")


def below(reference, prefix):
    """The recorded arrays whose names begin with ``prefix``, by the rest."""
    return {name.removeprefix(prefix): array for name, array in reference.items() if name.startswith(prefix)}


def config_of(reference, prefix=""):
    """The configuration of one of the models."""
    return GPT2Config(**{name: value.item() for name, value in below(reference, f"{prefix}sizes/").items()})


def settings_of(reference, *names):
    """What the recorded training was set to."""
    return {name: reference.config[name] for name in names}


@pytest.fixture
def optimizer(step, reference):
    """The learner's, set as PyTorch's was."""
    return step.AdamW(**settings_of(reference, "beta1", "beta2", "epsilon", "weight_decay"))


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


WIDE = GPT2Config(vocab_size=211, n_positions=50, n_embd=64, n_layer=2, n_head=4)
STD = 0.02


@pytest.fixture(scope="module")
def initialized():
    """What the learner's function returns for a wide model, made once."""
    made = {}

    def get(step, seed=0):
        if (step, seed) not in made:
            made[step, seed] = step.initialize(WIDE, seed)
        return made[step, seed]

    return get


@about("initialize")
def test_every_weight(step, reference):
    """It returns an array for every weight but the head's, which is wte: float32, of the model's shapes."""
    weights, recorded = step.initialize(config_of(reference, "block_"), 0), below(reference, "block_weights_0/")
    require(isinstance(weights, dict), f"initialize returns {type(weights).__name__}, and must return a dictionary.")
    more, fewer = sorted(weights.keys() - recorded.keys()), sorted(recorded.keys() - weights.keys())
    require(not more, f"It has {', '.join(more[:3])}, which is no weight of its own.", more)
    require(not fewer, f"It lacks {', '.join(fewer[:3])}.", fewer)
    kinds = {name: (str(weight.dtype), list(weight.shape)) for name, weight in weights.items()}
    for name, right in recorded.items():
        dtype, shape = kinds[name]
        require(shape == list(right.shape), f"{name} has the shape {shape}, and must have {list(right.shape)}.", kinds)
        require(dtype == "float32", f"{name} is {dtype}, and must be float32.", kinds)


@about("initialize")
def test_gains_and_biases(step, initialized):
    """The gains of all norms are 1, and all biases are 0: at first, they change nothing."""
    flat = {name: weight for name, weight in initialized(step).items() if weight.ndim == 1}
    right = {name: 0.0 if name.endswith("bias") else 1.0 for name in flat}
    wrong = {name: int((weight != right[name]).sum()) for name, weight in flat.items()}
    means = {name: round(float(weight.mean()), 5) for name, weight in flat.items()}
    for name, count in wrong.items():
        require(not count, f"{name} has {count} numbers other than {right[name]:g}.", means)


@about("initialize")
def test_spread(step, initialized):
    """Every table and matrix except c_proj is normal noise around 0, with a standard deviation of 0.02."""
    noise(initialized(step), lambda name: not name.endswith("c_proj.weight"), STD)


@about("initialize")
def test_spread_of_residual_projections(step, initialized):
    """Both c_proj of a block have 0.02 over sqrt(2 n_layer), since so many of them add to the residual stream."""
    noise(initialized(step), lambda name: name.endswith("c_proj.weight"), STD / math.sqrt(2 * WIDE.n_layer))


def noise(weights, wanted, right):
    """Refuse unless the matrices that are wanted are normal noise with the standard deviation ``right``."""
    seen = {name: weight.astype(np.float64) for name, weight in weights.items() if weight.ndim == 2 and wanted(name)}
    spread = {name: round(float(weight.std()), 5) for name, weight in seen.items()}
    for name, weight in seen.items():
        sentence = f"The standard deviation of {name} is {spread[name]:.4f}, and must be {right:.4f}."
        require(abs(spread[name] / right - 1) < 0.06, sentence, spread)
        mean = float(weight.mean())
        require(abs(mean) < right / 10, f"The mean of {name} is {mean:.4f}, and must be 0.", spread)
        share = float((np.abs(weight) < right).mean())
        sentence = f"Of {name}, {share:.0%} is within one standard deviation, where normal noise has 68%."
        require(abs(share - 0.683) < 0.04, sentence, share)


@about("initialize")
def test_seed(step, initialized):
    """The same seed gives the same numbers again, another seed gives others, and no two weights have the same."""
    first, again, other = initialized(step), step.initialize(WIDE, 0), initialized(step, 1)
    moved = [name for name in first if not np.array_equal(first[name], again[name])]
    require(not moved, f"With the same seed, {len(moved)} weights are different each time.", len(moved))
    kept = [name for name in first if first[name].ndim > 1 and np.array_equal(first[name], other[name])]
    require(not kept, f"With another seed, {len(kept)} matrices have the same numbers.", len(kept))
    beginnings = [tuple(np.sign(weight.ravel()[:60])) for weight in first.values() if weight.ndim > 1]
    alike = len(beginnings) - len(set(beginnings))
    require(not alike, f"{alike} matrices begin with the same noise as another: go on drawing from one rng.", alike)


@about("initialize")
def test_first_loss(step, reference):
    """A model with these weights knows nothing: its loss is ln V."""
    config, input_ids = config_of(reference), reference["input_ids"][1]
    weights = {name: weight.astype(np.float32) for name, weight in step.initialize(config, 3).items()}
    model = step.model_with(config, tensors(weights))
    loss = array(run(lambda input_ids: cross_entropy(model(input_ids), input_ids), input_ids)).item()
    right = math.log(config.vocab_size)
    require(abs(loss - right) < 0.02, f"The loss is {loss:.3f}, and must be about ln V = {right:.3f}.", round(loss, 4))


@about("learning_rate")
def test_warm_up(step):
    """It rises in a straight line: step 1 has 1/8 of the peak where the warm-up has 8 steps, step 8 all of it."""
    for at in range(1, 9):
        number(f"the rate of step {at}", step.learning_rate(at, **RATE), 6e-4 * at / 8)


@about("learning_rate")
def test_cosine(step):
    """From there it falls along half a cosine: to a half of the peak halfway, to 0 at total_steps, and it stays 0."""
    for at, part in {12: (1 + math.sqrt(0.5)) / 2, 16: 0.5, 20: (1 - math.sqrt(0.5)) / 2, 24: 0.0, 30: 0.0}.items():
        number(f"the rate of step {at} of 24", step.learning_rate(at, **RATE), 6e-4 * part)


@about("learning_rate")
def test_without_a_warm_up(step):
    """With a warm-up of one step, step 1 has the peak; with none, step 1 is the first step down from it."""
    rates = {one: step.learning_rate(1, peak=2.0, warmup_steps=one, total_steps=4) for one in (1, 0)}
    number("the rate of step 1 with a warm-up of 1", rates[1], 2.0)
    number("the rate of step 1 without a warm-up", rates[0], 1 + math.sqrt(0.5))


def clipped(step, gradients, max_norm):
    """What the learner's function returns, computed."""
    given = tensors(gradients)
    with lazily():
        result = step.clip_by_global_norm(given, max_norm)
    require(isinstance(result, tuple) and len(result) == 2, "It must return the gradients and their norm.", str(result))
    return result


@about("clip_by_global_norm")
def test_norm(step):
    """The norm is the length of all numbers of all gradients together, before clipping: one float32, []."""
    for factor, max_norm in ((1.0, 1.0), (0.01, 1.0), (1.0, 50.0)):
        _, norm = clipped(step, {name: np.float32(factor) * one for name, one in GRADIENTS.items()}, max_norm)
        equal(norm, np.array(factor * LENGTH, np.float32), what="the norm", whose="it must be")


@about("clip_by_global_norm")
def test_clipped(step):
    """Gradients that are too long together are scaled by one factor: the length is max_norm, the direction the same."""
    for max_norm in (1.0, 0.3):
        gradients, _ = clipped(step, GRADIENTS, max_norm)
        right = {name: (one * (max_norm / LENGTH)).astype(np.float32) for name, one in GRADIENTS.items()}
        same(gradients, right, f"with max_norm = {max_norm}, the gradients", whose="the right number")


@about("clip_by_global_norm")
def test_short_gradients(step):
    """Gradients that are short enough stay as they are: clipping never makes them longer, and 0 stays 0."""
    for factor in (0.5, 0.0):
        short = {name: np.float32(factor) * one for name, one in GRADIENTS.items()}
        gradients, _ = clipped(step, short, 2.5)
        same(gradients, short, "the gradients that are short enough", whose="the right number")


@about("decay")
def test_what_decays(step):
    """Matrices and tables decay, gains and biases do not, whatever their size."""
    for rate in (0.3, 0.1):
        optimizer = step.AdamW(weight_decay=rate)
        for shape in ((3, 4), (1, 1), (4, 1), (5,), (1,)):
            right = rate if len(shape) == 2 else 0.0
            number(f"decay of a weight {list(shape)}", optimizer.decay(tensor(np.ones(shape, np.float32))), right)


def clipped_gradient(reference, at, name):
    """The gradient that PyTorch's AdamW got at a step."""
    factor = min(1.0, reference.config["max_norm"] / reference["norms"][at - 1])
    return (reference[f"sums_{at}/{name}"] * (factor / reference["count"])).astype(np.float32)


def zeros_before(reference, kind, at, name):
    """A recorded average of AdamW before a step; before the first, it is 0."""
    return reference[f"{kind}_{at - 1}/{name}"] if at > 1 else np.zeros_like(reference[f"{kind}_1/{name}"])


@about("averages")
def test_averages(step, reference, optimizer):
    """Both moving averages are PyTorch's, at steps 1, 2 and 20: of the gradient, and of its square."""
    for at in (1, 2, 20):
        before = [zeros_before(reference, kind, at, TABLE) for kind in ("means", "squares")]
        given = map(tensor, (clipped_gradient(reference, at, TABLE), *before))
        with lazily():
            result = optimizer.averages(*given)
        require(isinstance(result, tuple) and len(result) == 2, "It must return the mean and the square.", str(result))
        for kind, average in zip(("means", "squares"), result, strict=True):
            same({TABLE: average}, {TABLE: reference[f"{kind}_{at}/{TABLE}"]}, f"after step {at}, the {kind}")


def updated(optimizer, weight, mean, square, rate, at):
    """What the learner's function makes of a weight."""
    with_scalars = map(tensor, (weight, mean, square, np.array(rate, np.float32), np.array(at, np.float32)))
    with lazily():
        return optimizer.updated(*with_scalars)


@about("updated")
def test_updated(step, reference, optimizer, schedule):
    """A table and a gain are PyTorch's after steps 1, 2 and 20, each from what there was before it."""
    for at, name in itertools.product((1, 2, 20), (TABLE, GAIN)):
        weight, mean, square = (
            reference[f"{kind}_{when}/{name}"]
            for kind, when in zip(("weights", "means", "squares"), (at - 1, at, at), strict=True)
        )
        result, right = updated(optimizer, weight, mean, square, schedule(at), at), reference[f"weights_{at}/{name}"]
        require(isinstance(result, Tensor), f"updated returns {type(result).__name__}, and must return a Tensor.")
        change = float(np.abs(right - weight).max())
        equal(result, right, what=f"{name} after step {at}", tolerance=max(1e-4 * change, 1e-6), whose=PYTORCH)


@about("updated")
def test_first_step(step):
    """The first step moves every number by the rate, however large its gradient: both averages are corrected."""
    gradient = np.array([[1e-3, -2e-3, 5.0], [-1e2, 0.3, -0.7]], np.float32)
    for beta1, beta2 in ((0.9, 0.95), (0.5, 0.999)):
        optimizer = step.AdamW(beta1=beta1, beta2=beta2, epsilon=1e-9, weight_decay=0.0)
        mean, square = (np.float32(1 - beta1) * gradient, np.float32(1 - beta2) * gradient**2)
        result = updated(optimizer, np.zeros_like(gradient), mean, square, 0.25, 1)
        right = (-0.25 * np.sign(gradient)).astype(np.float32)
        equal(result, right, what="the first step from 0", tolerance=1e-4, whose="it must be")


@about("updated")
def test_decoupled_decay(step):
    """Without a gradient, a matrix shrinks by rate times decay, and a gain stays: nothing divides the decay."""
    weight, rate = np.random.RandomState(101).standard_normal((3, 4)).astype(np.float32), 0.25
    optimizer = step.AdamW(weight_decay=0.2)
    for one, factor in ((weight, 1 - rate * 0.2), (weight[0], 1.0)):
        result = updated(optimizer, one, np.zeros_like(one), np.zeros_like(one), rate, 3)
        what = f"a weight {list(one.shape)} without a gradient"
        equal(result, (one * factor).astype(np.float32), what=what, tolerance=1e-6, whose="it must be")


@about("add_gradients")
def test_sums(step):
    """A batch of 3 losses and one of 1 give the sum over 4: each mean times its own count, added in place."""
    singles = (
        np.random.RandomState(102).standard_normal((4, 3, 4)).astype(np.float32),
        np.random.RandomState(103).standard_normal((4, 5)).astype(np.float32),
    )
    names = ("a", "b")
    first, second = (
        {name: one[part].mean(axis=0) for name, one in zip(names, singles, strict=True)}
        for part in (np.s_[:3], np.s_[3:])
    )
    kept = {name: tensor(np.ones_like(one[0])) for name, one in zip(names, singles, strict=True)}
    given = dict(kept)
    for gradients, count in ((first, 3), (second, 1)):
        of, how_many = tensors(gradients), tensor(np.array(count, np.float32))
        with lazily():
            step.add_gradients(given, of, how_many)
    right = {name: (1 + one.sum(axis=0)).astype(np.float32) for name, one in zip(names, singles, strict=True)}
    in_place(kept, given, {name: np.ones_like(one) for name, one in right.items()}, "sums")
    same(kept, right, "the sums", whose="the right number")


def in_place(kept, given, before, what):
    """Refuse if a dictionary got other tensors, while those that were in it stayed as they were."""
    for name, one in kept.items():
        moved = given[name] is not one and np.array_equal(array(one), before[name])
        sentence = f"{what}[{name!r}] is another tensor now, and the one that was there has not changed."
        require(not moved, f"{sentence} Write into that one: `[...] =`.", f"{what} replaced")


def state_before(step, reference, at, prefix=""):
    """The recorded state before a step, with the sums of its batches."""
    weights = below(reference, f"{prefix}weights_{at - 1}/")
    state = step.training_state(weights)
    state.step = at - 1
    state.sums = tensors(below(reference, f"{prefix}sums_{at}/"))
    if at > 1:
        state.means, state.squares = (tensors(below(reference, f"{kind}_{at - 1}/")) for kind in ("means", "squares"))
    return state


def scalars(*numbers):
    return [tensor(np.array(one, np.float32)) for one in numbers]


@about("forward")
def test_update(step, reference, optimizer, schedule):
    """Update takes step 20 as PyTorch did, whose gradients are clipped: weights, averages, and the norm before that."""
    at = 20
    state = state_before(step, reference, at)
    kept = {kind: dict(getattr(state, kind)) for kind in STATE}
    before = {kind: {name: array(one) for name, one in kept[kind].items()} for kind in STATE}
    given = scalars(schedule(at), at, reference["count"])
    with lazily():
        norm = step.Update(optimizer, reference.config["max_norm"])(
            *given, state.weights, state.sums, state.means, state.squares
        )
    for kind in ("weights", "means", "squares"):
        in_place(kept[kind], getattr(state, kind), before[kind], kind)
        same(kept[kind], below(reference, f"{kind}_{at}/"), f"after step {at}, {kind}", 1e-4)
    equal(norm, reference["norms"][at - 1].astype(np.float32), what=f"the norm of step {at}", whose=PYTORCH)


@about("forward")
def test_sums_are_zero_again(step, optimizer):
    """After Update all sums are 0, so that the next step begins anew; a gain without a gradient stays as it is."""
    weights = {"w": np.ones((2, 3), np.float32), "gain": np.array([1.5, 2.0], np.float32)}
    state = step.training_state(weights)
    sums = {"w": np.full((2, 3), 4, np.float32), "gain": np.zeros(2, np.float32)}
    state.sums = kept = tensors(sums)
    given = scalars(0.1, 1, 2)
    with lazily():
        step.Update(optimizer, 1.0)(*given, state.weights, dict(kept), state.means, state.squares)
    same(
        kept, {name: np.zeros_like(one) for name, one in sums.items()}, "the sums afterwards", whose="the right number"
    )
    same({"gain": state.weights["gain"]}, {"gain": weights["gain"]}, "the weights", whose="the right number")


class Stub:
    """Stands for Accumulate and for Update: knows what to answer, and remembers what it was called with."""

    def __init__(self, batches=((6.0, 3), (1.0, 1)), norm=0.5):
        self.answers, self.norm, self.seen = itertools.cycle(batches), norm, []

    def accumulate(self, input_ids, labels, weights, sums):
        self.seen.append(("accumulate", input_ids, labels, weights, sums))
        return tuple(scalars(*next(self.answers)))

    def update(self, rate, at, count, weights, sums, means, squares):
        numbers = [round(array(one).item(), 6) for one in (rate, at, count)]
        self.seen.append(("update", *numbers, weights, sums, means, squares))
        return scalars(self.norm)[0]

    @property
    def updates(self):
        return [list(call[1:4]) for call in self.seen if call[0] == "update"]


def made_up(step, at=0):
    """A state of one weight."""
    state = step.training_state({"w": np.ones((2, 2), np.float32)})
    state.step = at
    return state


@about("train_step")
def test_what_is_called(step):
    """Each batch goes into the sums once, in order; then one update gets the rate, the step's number, the count."""
    state, stub = made_up(step, at=4), Stub()
    step.train_step(state, [("ids 1", "labels 1"), ("ids 2", "labels 2")], 0.25, stub.accumulate, stub.update)
    is_value("what was called", [call[0] for call in stub.seen], ["accumulate", "accumulate", "update"])
    is_value(
        "what accumulate got",
        [list(call[1:3]) for call in stub.seen[:2]],
        [["ids 1", "labels 1"], ["ids 2", "labels 2"]],
    )
    is_value("rate, step and count for update", stub.updates, [[0.25, 5.0, 4.0]])
    is_value("state.step", state.step, 5)
    for call in stub.seen:
        wanted = STATE if call[0] == "update" else STATE[:2]
        got = [next((kind for kind in STATE if getattr(state, kind) is one), "?") for one in call[-len(wanted) :]]
        is_value(f"what {call[0]} writes into", got, list(wanted))


@about("train_step")
def test_what_is_returned(step):
    """It returns the mean loss over all labels, not the mean of the batches' means, and the norm: two plain numbers."""
    stub = Stub()
    result = step.train_step(made_up(step), [(0, 0), (1, 1)], 0.25, stub.accumulate, stub.update)
    require(isinstance(result, tuple) and len(result) == 2, f"It returns {result!r}; return the loss and the norm.")
    number("the loss", result[0], 1.75)
    number("the norm", result[1], 0.5)


@about("train_step")
def test_no_number(step):
    """A loss that is NaN or infinite is a FloatingPointError that names the step, before any weight changes."""
    said: dict[str, str] = {}
    refusals = []
    for total in (math.nan, math.inf):
        try:
            refused(step, Stub([(6.0, 3), (total, 1)]), f"a loss of {total}")
        except Refusal as refusal:
            refusals.append(refusal)
            said[f"{total}"] = refusal.sentence
    first_of(refusals, observed=said)


@about("train_step")
def test_nothing_to_learn(step):
    """Batches without a valid label are a FloatingPointError too: the mean of nothing is not a number."""
    refused(step, Stub([(0.0, 0)]), "batches without a valid label")


def refused(step, stub, what):
    """Refuse unless a step ends in a FloatingPointError, with nothing changed."""
    state = made_up(step, at=6)
    try:
        step.train_step(state, [(0, 0), (1, 1)], 0.25, stub.accumulate, stub.update)
    except FloatingPointError as error:
        message = f"{error}"
        require("7" in message, f"The message of {what} is {message!r}, and must name step 7.", message)
    except ZeroDivisionError as error:
        require(False, f"{what}: {error}; it must be a FloatingPointError.", f"{what}: {error}")
    else:
        require(False, f"{what} is accepted, and must raise FloatingPointError.", f"{what} is accepted")
    require(not stub.updates, f"{what} is refused after the update: the weights are spoiled.", len(stub.updates))
    is_value(f"state.step after {what}", state.step, 6)


@about("train_step")
def test_one_step(step, reference, optimizer, schedule):
    """With Accumulate and Update, on batches of 4 and 8 labels: loss, norm and weights are PyTorch's after step 1."""
    accumulate, update = step.Accumulate(config_of(reference)), step.Update(optimizer, reference.config["max_norm"])

    def at_once(graph):
        def call(*given):
            with lazily():
                return graph(*given)

        return call

    state = step.training_state(below(reference, "weights_0/"))
    batches = [tuple(map(tensor, one)) for one in zip(reference["input_ids"], reference["labels"], strict=True)]
    loss, norm = step.train_step(state, batches, schedule(1), at_once(accumulate), at_once(update))
    equal(np.float32(loss), reference["losses"][0].astype(np.float32), what="the loss", whose=PYTORCH)
    equal(np.float32(norm), reference["norms"][0].astype(np.float32), what="the norm", whose=PYTORCH)
    same(state.weights, below(reference, "weights_1/"), "after the step, the weights")


def steps_of(step, state, n_steps, stub):
    """A training on made-up batches, which say what step they are for."""
    asked = []

    def batches_of(at):
        asked.append(at)
        require(len(asked) <= n_steps, f"Batches are asked for {len(asked)} times: it does not end.", asked)
        return [(at, at)]

    return step.train(state, batches_of, lambda at: at / 8, n_steps, stub.accumulate, stub.update), asked


@about("train")
def test_training(step):
    """Each step gets the batches and the rate of its number, from 1 on, and reports number, loss, norm and rate."""
    stub = Stub([(6.0, 3)])
    progress, asked = steps_of(step, made_up(step), 3, stub)
    reports = [(one.step, one.loss, one.norm, one.rate) for one in progress]
    is_value("the steps that batches are asked for", asked, [1, 2, 3])
    is_value("what the batches were", [call[1] for call in stub.seen if call[0] == "accumulate"], [1, 2, 3])
    is_value(
        "rates and steps of the updates", [one[:2] for one in stub.updates], [[0.125, 1.0], [0.25, 2.0], [0.375, 3.0]]
    )
    is_value("the reports", reports, [(at, 2.0, 0.5, at / 8) for at in (1, 2, 3)])


@about("train")
def test_going_on(step):
    """A training goes on from state.step, and does nothing once n_steps is reached."""
    for start, right in ((4, [5, 6]), (6, []), (7, [])):
        progress, asked = steps_of(step, made_up(step, at=start), 6, Stub())
        reported = [one.step for one in progress]
        is_value(f"after step {start}, and up to 6, the steps that batches are asked for", asked, right)
        is_value(f"after step {start}, and up to 6, the steps that are reported", reported, right)


@about("train")
def test_it_waits_to_be_asked(step):
    """It takes a step only when the next report is asked for, so that a training can be stopped."""
    state = made_up(step)
    progress, asked = steps_of(step, state, 5, Stub())
    require(
        hasattr(progress, "__next__"), f"train returns {type(progress).__name__}; `yield` each report.", "no iterator"
    )
    is_value("state.step before the first report", state.step, 0)
    next(progress), next(progress)
    is_value("state.step after two reports", state.step, 2)
    is_value("the steps that batches are asked for", asked, [1, 2])


@pytest.mark.drawn
@about("updated")
def test_other_updates(step, answer, draw):
    """With sizes, averages and settings drawn anew, a weight is right after a step as well."""
    options = {"beta1": 1 - draw.number("1 - beta1", 0.02, 0.5), "beta2": 1 - draw.number("1 - beta2", 0.02, 0.5)}
    options |= {"epsilon": draw.number("epsilon", 1e-4, 1e-1), "weight_decay": draw.number("weight_decay", 0.01, 1)}
    shape, at, rate = [draw.whole("rows", 2, 6), draw.whole("columns", 2, 9)], draw.whole("step", 1, 30), 0.1
    weight, mean, square = draw.array(*shape), draw.array(*shape), draw.array(*shape) ** 2
    for one in (np.s_[:], np.s_[0]):
        given = weight[one], mean[one], square[one], rate, at
        result, right = (updated(module.AdamW(**options), *given) for module in (step, answer))
        size = float(np.abs(np.from_dlpack(right)).max())
        equal(result, right, what="the weight", tolerance=TOLERANCE * max(1.0, size), whose="the solution's")


@pytest.mark.drawn
@about("learning_rate")
def test_other_rates(step, answer, draw):
    """Rates of a schedule drawn anew are right as well."""
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
        right = answer.learning_rate(at, **options)
        number(f"the rate of step {at}", step.learning_rate(at, **options), right)


def on_cpu(tensors):
    """The tensors where NumPy can read them."""
    return {name: tensor.to(CPU()) for name, tensor in tensors.items()}


def on_device(device, weights):
    """How the graphs are called on a device, and the types of their inputs."""
    target = open_device(device)
    integers, one = (
        TensorType(dtype, shape, device=target)
        for dtype, shape in ((DType.int64, ["batch", "seq"]), (DType.float32, []))
    )
    named = {name: BufferType(DType.float32, weight.shape, device=target) for name, weight in weights.items()}

    def called(module, *types):
        with compiling(f"{type(module).__name__} for {device}"):
            graph = module.compile(*types)
        return lambda *given: graph(*(value.to(target) if isinstance(value, Tensor) else value for value in given))

    def moved(state):
        for kind in STATE:
            setattr(state, kind, {name: value.to(target) for name, value in getattr(state, kind).items()})
        return state

    accumulate = lambda module: called(module, integers, integers, named, named)  # noqa: E731
    update = lambda module: called(module, one, one, one, named, named, named, named)  # noqa: E731
    return accumulate, update, moved


@pytest.mark.compiled
@about("compiled")
def test_compiled_accumulate(step, reference, device):
    """Accumulate as one graph adds both batches' gradients to the sums, which it is given and writes into."""
    weights = below(reference, "weights_0/")
    accumulate, _, moved = on_device(device, weights)
    graph, state = accumulate(step.Accumulate(config_of(reference))), moved(step.training_state(weights))
    total = 0.0
    for batch in zip(reference["input_ids"], reference["labels"], strict=True):
        losses, _ = graph(*map(tensor, batch), state.weights, state.sums)
        total += losses.item()
    right = reference["losses"][0].astype(np.float32)
    equal(np.float32(total / reference["count"]), right, what="the compiled loss", whose=PYTORCH)
    same(on_cpu(state.sums), below(reference, "sums_1/"), f"on {device}, the compiled sums", 1e-4)


@pytest.mark.compiled
@about("compiled")
def test_compiled_update(step, reference, device, optimizer, schedule):
    """Update as one graph makes PyTorch's first step of a training: every weight, and the norm."""
    weights = below(reference, "weights_0/")
    _, update, moved = on_device(device, weights)
    graph, state = (
        update(step.Update(optimizer, reference.config["max_norm"])),
        moved(state_before(step, reference, 1)),
    )
    norm = graph(*scalars(schedule(1), 1, reference["count"]), state.weights, state.sums, state.means, state.squares)
    equal(np.float32(norm.item()), reference["norms"][0].astype(np.float32), what="the compiled norm", whose=PYTORCH)
    same(on_cpu(state.weights), below(reference, "weights_1/"), f"on {device}, after the compiled step, weights")


@pytest.mark.compiled
@about("compiled")
def test_compiled_training(step, reference, device, optimizer, schedule):
    """Twenty steps of both graphs, two batches each: every loss and norm, and the weights at the end, are PyTorch's."""
    weights = below(reference, "weights_0/")
    accumulate, update, moved = on_device(device, weights)
    graphs = (
        accumulate(step.Accumulate(config_of(reference))),
        update(step.Update(optimizer, reference.config["max_norm"])),
    )
    state = moved(step.training_state(weights))
    batches = [tuple(map(tensor, one)) for one in zip(reference["input_ids"], reference["labels"], strict=True)]
    reports = list(step.train(state, lambda at: batches, schedule, 20, *graphs))
    for what, actual in (("losses", [one.loss for one in reports]), ("norms", [one.norm for one in reports])):
        right = reference[what].astype(np.float32)
        equal(np.array(actual, np.float32), right, ("step",), what=f"the {what}", tolerance=1e-4, whose=PYTORCH)
    same(on_cpu(state.weights), below(reference, "weights_20/"), f"on {device}, after 20 steps, the weights", 1e-4)


@pytest.mark.compiled
@about("compiled")
def test_by_heart(step, reference, device, optimizer):
    """One batch is learned by heart: 60 steps bring its loss near 0."""
    config = config_of(reference)
    weights = step.initialize(config, 0)
    accumulate, update, moved = on_device(device, weights)
    graphs = accumulate(step.Accumulate(config)), update(step.Update(optimizer, reference.config["max_norm"]))
    batch = tuple(map(tensor, (reference["input_ids"][1], reference["labels"][1])))
    *_, last = step.train(moved(step.training_state(weights)), lambda at: [batch], lambda at: 0.03, 60, *graphs)
    require(last.loss < 0.3, f"After 60 steps on one batch, its loss is {last.loss:.2f}.", last.loss)
