"""Step 19, the whole model backward: what is claimed.

PyTorch's gradients of Hugging Face's GPT-2 were recorded, of the whole model and of its parts, all on the awkward
configuration with two blocks (batch 2, length 7, width 15). What is drawn is compared with NumPy, forward and back.
The modules that are gone back through are the solutions'.
"""

import functools
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from max.dtype import DType
from max.experimental.nn import Module
from max.experimental.tensor import Tensor

from checker.claims import Refusal, about, equal, require
from checker.claims.modules import build, compiled, shapes_of
from checker.claims.vocabulary import KEPT, article
from checker.max_adapter.runtime import lazily, tensor
from checker.numeric.comparison import close
from checker.numeric.references import seeded_weights
from checker.numeric.tolerance import TOLERANCE
from solutions.solution_01 import GPT2Config
from solutions.solution_04 import GPT2MLP
from solutions.solution_11 import MaxGPT2LMHeadModel
from tests.references.backward import GPT2

IGNORED = -100
PYTORCH, NUMPY = "PyTorch's", "NumPy's"
SMALLEST = 1e-3  # what is smaller than this is compared as if it were as large
LINEAR = ("c_attn.weight", "c_proj.weight", "c_fc.weight")
AXES = {"wte.weight": ("token", "channel"), "wpe.weight": ("position", "channel")} | dict.fromkeys(
    LINEAR, ("output", "input")
)
TIED = "transformer.wte.weight"
HEAD = "lm_head.weight"


@pytest.fixture(scope="module")
def model(config, reference):
    """Step 11's model with Hugging Face's weights."""
    return build(MaxGPT2LMHeadModel, config, weights=reference.weights)


@pytest.fixture(scope="module")
def one_block(config, reference):
    """Its first block alone, with embeddings and head: enough to compile."""
    weights = {name: array for name, array in reference.weights.items() if not name.startswith("transformer.h.1.")}
    return build(MaxGPT2LMHeadModel, replace(config, n_layer=1), weights=weights)


@pytest.fixture(scope="module")
def without_blocks(config, reference):
    """The model without its blocks: only tables, norm and head, which is enough for what labels do."""
    weights = {name: array for name, array in reference.weights.items() if not name.startswith("transformer.h.")}
    return build(MaxGPT2LMHeadModel, replace(config, n_layer=0), weights=weights)


@pytest.fixture(scope="module")
def recorded_batch(subject, model, reference):
    """What returns the loss and the gradients of the recorded batch; computed once for all claims."""
    return functools.cache(lambda: loss_and_gradients(subject, model, reference["input"], reference["labels"]))


def in_a_checkpoint(weights):
    """The names of the weights that are trained: the head has none of its own."""
    return [name for name in weights if name != HEAD]


def call(function, *arguments):
    """What the learner's function returns for arrays and modules, as one graph."""
    with lazily():
        return function(*(tensor(value) if isinstance(value, np.ndarray) else value for value in arguments))


def several(function, result, kinds):
    """The values that a function returns together: a Tensor, or gradients by name, as ``kinds`` has it."""
    what, wanted = function.__name__, f"{len(kinds)} values: {', '.join(kinds)}"
    require(result is not None, f"{what} returns None: is there a `return`?")
    fits = isinstance(result, tuple | list) and len(result) == len(kinds)
    got = f"{len(result)} values" if isinstance(result, tuple | list) else article(type(result).__name__)
    require(fits, f"{what} returns {got}, and must return {wanted}.")
    for value, kind in zip(result, kinds, strict=True):
        right = Tensor if kind.startswith(("the gradient of", "the loss")) else dict
        sentence = f"{what} returns {article(type(value).__name__)}, where {kind} must be: {article(right.__name__)}."
        require(isinstance(value, right), sentence)
    return result


def named(what, gradients, names):
    """Refuse unless there is a tensor for each name, and for no other."""
    missing, more = [name for name in names if name not in gradients], [name for name in gradients if name not in names]
    observed = " ".join(map(str, gradients))
    wanted = f"it must have {len(names)}, one for each parameter"
    sentence = f"{what} has no gradient of {missing[0] if missing else ''}; {wanted}"
    require(not missing, sentence + (f", and it has one of {more[0]}." if more else "."), observed)
    because = ": that is wte, the same weights, so its gradient belongs to wte's." if HEAD in more else "."
    require(not more, f"{what} has a gradient of {more[0] if more else ''}, and must not{because}", observed)
    for name in names:
        kind = type(gradients[name])
        require(issubclass(kind, Tensor), f"{what} has {article(kind.__name__)} for {name}, and must have a Tensor.")


def axes_of(name):
    """What the axes of a weight count, where a verdict would not know."""
    return next((axes for end, axes in AXES.items() if end in name), ())


@contextmanager
def comparing(name, right, whose=PYTORCH):
    """How the gradient of ``name`` is compared with the right one; if its numbers are wrong, say which one it is."""
    size = float(np.abs(np.from_dlpack(right)).max())
    close = TOLERANCE * min(1, max(size, SMALLEST))
    try:
        yield {"axes": axes_of(name), "what": f"the gradient of {name}", "tolerance": close, "whose": whose}
    except Refusal as refusal:
        if refusal.compared is not None:
            refusal.sentence = f"The gradient of {name} is wrong. {refusal.sentence}"
        raise


def backward(function, grad, taken, module, names):
    """What the way back through a module returns: the gradient of what it took, and those of its weights by name."""
    result = call(function, module, grad, taken)
    grad, gradients = several(function, result, ("the gradient of the input", "gradients by name"))
    named(f"The dictionary from {function.__name__}", gradients, names)
    return grad, gradients


def again(function, grad, taken, module, right, gradients):
    """Refuse unless a second call, with the texts in reverse order, gives the right gradients that way, too."""
    given = (np.ascontiguousarray(part[::-1]) for part in (grad, taken))
    grad_input, others = call(function, module, *given)
    require(close(np.from_dlpack(grad_input)[::-1], right) and all_close(others, gradients), KEPT)


def all_close(gradients, right):
    """Whether there is a gradient for each right one, and it is the same."""
    return all(name in gradients and close(np.from_dlpack(gradients[name]), right[name]) for name in right)


def loss_and_gradients(subject, model, input_ids, labels):
    """The loss, and the gradients by name, nearest to the loss first."""
    function = subject.gpt2_loss_and_gradients
    result = call(function, model.transformer, input_ids, labels)
    loss, gradients = several(function, result, ("the loss", "gradients by name"))
    names = in_a_checkpoint(shapes_of(model))
    named("The dictionary from gpt2_loss_and_gradients", gradients, names)
    return loss, {name: gradients[name] for name in reversed(names)}


@about("mlp_backward")
def test_mlp(subject, model, reference):
    """The gradients of the input and of the four parameters match PyTorch's, in the layout [out, in]."""
    mlp = model.transformer.h[0].mlp
    taken, grad = reference["mlp_input"], reference["mlp_grad"]
    grad_input, gradients = backward(subject.mlp_backward, grad, taken, mlp, shapes_of(mlp))
    for name in ("c_proj.bias", "c_proj.weight", "c_fc.bias", "c_fc.weight"):
        with comparing(name, reference[f"mlp/{name}/gradient"]) as how:
            equal(gradients[name], reference[f"mlp/{name}/gradient"], **how)
    right = reference["mlp_input_gradient"]
    with comparing("hidden_states", right) as how:
        equal(grad_input, right, **how)
    again(
        subject.mlp_backward, grad, taken, mlp, right, {name: reference[f"mlp/{name}/gradient"] for name in gradients}
    )


@about("pre_norm_residual_backward")
def test_past_the_branch(subject, model, reference):
    """If the sublayer sends back zeros, the gradient of x is grad itself, which bypasses the branch."""

    def nothing(sublayer, grad, taken):
        return grad * 0, {"weight": grad}

    norm, function = model.transformer.h[1].ln_2, subject.pre_norm_residual_backward
    kinds = ("the gradient of x", "gradients of the norm", "gradients of the sublayer")
    result = call(function, norm, "a sublayer", nothing, reference["residual_grad"], reference["residual_input"])
    grad_x, of_norm, of_sublayer = several(function, result, kinds)
    equal(grad_x, reference["residual_grad"], what="the gradient of x", whose="grad itself:")
    named("The second value, the norm's gradients,", of_norm, ["weight", "bias"])
    named("The third value, the sublayer's gradients,", of_sublayer, ["weight"])


@about("pre_norm_residual_backward")
def test_the_sublayer_is_given(subject, model, reference):
    """sublayer_backward gets the sublayer, grad, and the sublayer's input, the normalized x."""
    norm, x = model.transformer.h[1].ln_2, reference["residual_input"]
    asked = []

    def noting(sublayer, grad, taken):
        asked.append((sublayer, grad, taken))
        return grad, {}

    call(subject.pre_norm_residual_backward, norm, "a sublayer", noting, reference["residual_grad"], x)
    require(bool(asked), "sublayer_backward is not called.")
    sublayer, grad, taken = asked[0]
    require(sublayer == "a sublayer", "Its first argument is not the sublayer.")
    equal(grad, reference["residual_grad"], what="its second argument", whose="grad:")
    equal(taken, np.from_dlpack(call(norm, x)).copy(), what="its third argument", whose="norm(x):")


@about("pre_norm_residual_backward")
def test_residual(subject, model, reference):
    """Around the second half of a block, all gradients match PyTorch's: x's, the norm's and the sublayer's."""
    block, function = model.transformer.h[1], subject.pre_norm_residual_backward
    names = shapes_of(block.mlp)

    def mlp_backward(mlp, grad, taken):  # PyTorch's, recorded
        return tensor(reference["residual_normed_gradient"]), dict.fromkeys(names, grad)

    result = call(
        function, block.ln_2, block.mlp, mlp_backward, reference["residual_grad"], reference["residual_input"]
    )
    grad_x, of_norm, _ = several(function, result, ("the gradient of x", "the norm's by name", "the mlp's by name"))
    named("The second value, the norm's gradients,", of_norm, ["weight", "bias"])
    for name in ("bias", "weight"):
        with comparing(f"the norm's {name}", reference[f"residual/ln_2.{name}/gradient"]) as how:
            equal(of_norm[name], reference[f"residual/ln_2.{name}/gradient"], **how)
    with comparing("x", reference["residual_input_gradient"]) as how:
        equal(grad_x, reference["residual_input_gradient"], **how)


@about("block_backward")
def test_block(subject, model, reference):
    """The gradients of a block's input and of its twelve parameters match PyTorch's, by name."""
    block = model.transformer.h[1]
    names = shapes_of(block)
    taken, grad = reference["block_input"], reference["block_grad"]
    grad_input, gradients = backward(subject.block_backward, grad, taken, block, names)
    for name in reversed(names):
        with comparing(name, reference[f"block/{name}/gradient"]) as how:
            equal(gradients[name], reference[f"block/{name}/gradient"], **how)
    right = reference["block_input_gradient"]
    with comparing("hidden_states", right) as how:
        equal(grad_input, right, **how)
    again(
        subject.block_backward, grad, taken, block, right, {name: reference[f"block/{name}/gradient"] for name in names}
    )


@about("head_backward")
def test_head(subject, model, reference):
    """The gradients of the last block's output, of ln_f, and of the head's use of wte match PyTorch's."""
    transformer = model.transformer
    grad, taken = reference["logits_gradient"], reference["states"][-1]
    names = ("ln_f.bias", "ln_f.weight", "wte.weight")
    grad_input, gradients = backward(subject.head_backward, grad, taken, transformer, names)
    right = {"wte.weight": reference["head_gradient"]}
    right |= {name: reference[f"model/transformer.{name}/gradient"] for name in names[:2]}
    for name, gradient in right.items():
        with comparing(name, gradient) as how:
            equal(gradients[name], gradient, **how)
    right_input = reference["states_gradient"][-1]
    with comparing("hidden_states", right_input) as how:
        equal(grad_input, right_input, **how)
    again(subject.head_backward, grad, taken, transformer, right_input, right)


@about("blocks_backward")
def test_names_of_twelve_blocks(subject, model, reference):
    """With twelve blocks, as in GPT-2 small, each one's names are its own: h.0 to h.11."""
    block, count = model.transformer.h[0], 12
    config = replace(model.transformer.config, n_layer=count)
    transformer = SimpleNamespace(h=[block] * count, config=config)  # nothing is computed: only the names are read
    names = [f"h.{layer}.{name}" for layer in range(count) for name in shapes_of(block)]
    states = (tensor(reference["stack_input"]),) * (count + 1)
    backward(subject.blocks_backward, reference["stack_grad"], states, transformer, names)


@about("blocks_backward")
def test_blocks(subject, model, reference):
    """Through two blocks, the gradients of the first one's input and of all 24 parameters match PyTorch's, by name."""
    names = [name for name in shapes_of(model.transformer) if name.startswith("h.")]
    middle = reference["stack_middle"]
    states = tuple(tensor(state) for state in (reference["stack_input"], middle, middle + 1))
    grad_input, gradients = backward(subject.blocks_backward, reference["stack_grad"], states, model.transformer, names)
    for name in reversed(names):
        with comparing(name, reference[f"stack/{name}/gradient"]) as how:
            equal(gradients[name], reference[f"stack/{name}/gradient"], **how)
    with comparing("the first state", reference["stack_input_gradient"]) as how:
        equal(grad_input, reference["stack_input_gradient"], **how)


@about("gpt2_loss_and_gradients")
def test_loss(recorded_batch, reference):
    """The loss matches Hugging Face's on a batch in which some labels are ignored."""
    equal(recorded_batch()[0], reference["loss"], what="the loss")


@about("gpt2_loss_and_gradients")
def test_gradients(recorded_batch, reference):
    """All 28 gradients match PyTorch's, under a checkpoint's names; they are compared from the loss backward."""
    _, gradients = recorded_batch()
    for name, gradient in gradients.items():
        with comparing(name, reference[f"model/{name}/gradient"]) as how:
            equal(gradient, reference[f"model/{name}/gradient"], **how)


@about("gpt2_loss_and_gradients")
def test_tied(recorded_batch, reference):
    """The gradient of wte is the sum of two: the head's, in every row, and the embeddings', in the input's rows."""
    _, gradients = recorded_batch()
    both = reference["head_gradient"] + reference["embeddings_gradient"]
    with comparing(TIED, both, "the sum of both:") as how:
        equal(gradients[TIED], both, **how)


@about("gpt2_loss_and_gradients")
def test_directions(recorded_batch, reference):
    """If all weights move a little, in three directions, the loss changes as fast as the gradients say."""
    _, gradients = recorded_batch()
    arrays = {name: np.from_dlpack(gradient).astype(np.float64) for name, gradient in gradients.items()}
    shapes = {name: reference.weights[name].shape for name in arrays}
    slopes = []
    for seed in reference["directions"]:
        direction = seeded_weights(shapes, int(seed))
        slopes.append(sum(float((array * direction[name]).sum()) for name, array in arrays.items()))
    equal(np.array(slopes), reference["slopes"], what="the slopes", whose="finite differences'")


@about("gpt2_loss_and_gradients")
def test_what_is_ignored(subject, without_blocks, reference):
    """A row whose labels are all ignored changes nothing, nor does a last token that nobody has to predict."""
    input_ids = np.concatenate([reference["input"], [[30, 2, 7, 11, 2, 0, 9]]])
    input_ids[1, -1] = 8  # its label is ignored, and no token comes after it
    labels = np.concatenate([reference["labels"], np.full((1, 7), IGNORED)])
    loss, gradients = loss_and_gradients(subject, without_blocks, input_ids, labels)
    equal(loss, reference["blockless_loss"], what="the loss")
    for name, gradient in gradients.items():
        with comparing(name, reference[f"blockless/{name}/gradient"]) as how:
            equal(gradient, reference[f"blockless/{name}/gradient"], **how)
    others = np.ascontiguousarray(input_ids[::-1])  # other texts for these labels
    weights = {name: reference.weights[name] for name in shapes_of(without_blocks)}
    right = GPT2(weights, eps=without_blocks.transformer.config.layer_norm_epsilon)
    right_loss = np.float32(right.loss(others, labels, IGNORED))
    loss, gradients = loss_and_gradients(subject, without_blocks, others, labels)
    right_gradients = {name: right.gradients[name] for name in gradients}
    require(close(np.from_dlpack(loss), right_loss) and all_close(gradients, right_gradients), KEPT)


@pytest.mark.drawn
@about("mlp_backward")
def test_other_widths(subject, draw):
    """A random width, weights and inputs work, too."""
    config = GPT2Config(**draw.settings())
    shape = draw.whole("batch", 1, 4), draw.whole("seq", 1, 8), config.n_embd
    shapes = shapes_of(build(GPT2MLP, config, weights={}))
    weights = draw.weights(shapes)
    grad, taken = draw.array(*shape), draw.array(*shape)
    mlp = build(GPT2MLP, config, weights=weights)
    result, gradients = backward(subject.mlp_backward, grad, taken, mlp, shapes)
    right = GPT2(weights)
    _, back = right.mlp(taken)
    right_result = back(grad)
    for name in reversed(shapes):
        same_as_numpy(name, gradients[name], right.gradients[name])
    same_as_numpy("hidden_states", result, right_result)


@pytest.mark.drawn
@about("gpt2_loss_and_gradients")
def test_other_numbers(subject, draw):
    """A random configuration with one block, weights, token ids and labels work, too."""
    # Of two channels, a norm makes nearly 1 and -1 whatever they are: what is left of a gradient is rounding.
    config = replace(GPT2Config(**draw.settings(least_width=4)), n_layer=1)
    draw.drawn["n_layer"] = config.n_layer
    batch, seq = draw.whole("batch", 1, 4), draw.whole("seq", 2, 8)
    input_ids, ignored = draw.ids(config.vocab_size, batch, seq), draw.coins(batch, seq)
    labels = np.where(ignored, IGNORED, input_ids)
    labels[:, -1] = input_ids[:, -1]
    weights = draw.weights(shapes_of(build(MaxGPT2LMHeadModel, config, weights={})))
    weights[HEAD] = weights[TIED]  # as in every checkpoint
    model = build(MaxGPT2LMHeadModel, config, weights=weights)
    loss, gradients = loss_and_gradients(subject, model, input_ids, labels)
    right = GPT2(weights, config.n_head, config.layer_norm_epsilon)
    equal(loss, np.float32(right.loss(input_ids, labels, IGNORED)), what="the loss", whose=NUMPY)
    for name, gradient in gradients.items():
        same_as_numpy(name, gradient, right.gradients[name])


def same_as_numpy(name, gradient, right):
    """Refuse unless a gradient of what was drawn is the one that NumPy finds."""
    right = right.astype(np.float32)
    with comparing(name, right, NUMPY) as how:
        equal(gradient, right, **how)


class LossAndGradients(Module):
    """The graph of training, which returns tensors: the loss, then the gradients in the order of ``names``."""

    def __init__(self, subject, model, names):
        self.subject, self.model, self.names = subject, model, names

    def forward(self, input_ids, labels):
        loss, gradients = self.subject.gpt2_loss_and_gradients(self.model.transformer, input_ids, labels)
        return (loss, *(gradients[name] for name in self.names))


@pytest.mark.compiled
@about("compiled")
def test_compiled(subject, one_block, reference, device):
    """One graph with symbolic batch and length returns the loss and every gradient of a model with one block."""
    names = list(reversed(in_a_checkpoint(shapes_of(one_block))))
    trained, types = LossAndGradients(subject, one_block, names), (DType.int64, DType.int64)
    graph = compiled(trained, ["batch", "seq"], ["batch", "seq"], device=device, dtype=types)
    loss, *gradients = graph(reference["input"], reference["labels"])
    equal(loss, reference["one_block_loss"], what=f"the compiled loss on {device}")
    for name, gradient in zip(names, gradients, strict=True):
        with comparing(f"{name}, compiled on {device}", reference[f"one_block/{name}/gradient"]) as how:
            equal(gradient, reference[f"one_block/{name}/gradient"], **how)
