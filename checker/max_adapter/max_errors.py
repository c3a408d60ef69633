"""The texts of MAX's error messages: advice on each, and the part of them that a learner needs.

This module imports neither MAX nor anything of ours, so ``diagnosis`` can word an exception without MAX; what is the
same for NumPy stands here, too, and begins with ``ANY``. A test provokes each of these messages in the installed MAX.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterable, Mapping, Sequence
from types import FrameType

LONGEST = 300  # characters of a message
PADDING = "pad takes two numbers for each axis"  # MAX asserts it without a message
OF_BOOLEANS = " of booleans"  # MAX's message about an index leaves it out
MISSING = r"(?:attribute|name) '(\w+)'"  # the message about a name that is not there
LIBRARIES = ("F", "np", "nn", "torch")
INDEX_ADD = ("index_add", "index_add_")
A_SYMBOL = (
    "While MAX compiles, this size is a symbol. It stands for any length, so int(...) cannot turn it into a number, "
    "and it cannot be compared."
)
PRODUCT = r"core dimension|Matrix multiplication"
FOR_PRODUCTS = (
    "x @ y needs [..., n, k] and [..., k, m]: swap the last two axes of one. x * y multiplies number by number."
)
NO_BROADCAST = r"could not be broadcast|neither equivalent nor"
FROM_THE_LAST = "From the last axis on, sizes must be equal, or one of them 1."
OUTSIDE = r"^(?!.*(gather index|num_)).*(out of bounds|out of range for)"
PLACES = "An axis of size n, or a table of n rows, has indices 0 to n - 1."
#: What MAX and Python say where a number is wanted of a tensor that is part of a graph.
NO_NUMBERS_YET = r"realize tensor before|or a real number, not 'Tensor'"
CONDITION = r"\b(if|while|assert|and|or|not)\b"  # in a statement
SEVERAL = ("[*a]", "(*a,)", "*a")
SIGNS = ("<", ">", "<=", ">=", "==", "!=")

#: What to do, or a choice of it: a pattern in the statement that failed → what to do there. The first that fits is
#: said, and the very first if the statement is not known.
Advice = str | Mapping[str, str]

#: A pattern in a message of MAX's or NumPy's → what to do.
ANY_ADVICE: dict[str, Advice] = {
    r"name 'torch' is not defined": "There is no PyTorch here.",
    r"cannot access local variable": (
        "A name that a function assigns is its own variable from its first line on: assign it before, or, if a "
        "function of that name was meant, give the variable another one."
    ),
    NO_BROADCAST: FROM_THE_LAST,
    PRODUCT: FOR_PRODUCTS,
    r"number of elements must match|cannot reshape": (
        "A reshape keeps the number of elements. Is a size wrong, or is a transpose missing before it?"
    ),
    OUTSIDE: PLACES,
    r"object is not callable": "Pass the function itself, not its result; partial(f, x) fixes its first argument.",
    r"no attribute '(backward|grad|requires_grad_?)'": (
        "No tensor remembers how its numbers were made, so there is no way back. The gradient is a formula: write it."
    ),
}

#: A pattern in a message → what people who know PyTorch or NumPy meant, and what to write instead.
ADVICE: dict[str, Advice] = ANY_ADVICE | {
    NO_BROADCAST: {
        r"^(?!.*unsqueeze)": FROM_THE_LAST,
        r"": f"{FROM_THE_LAST} unsqueeze(n) puts an axis of 1 at place n, unsqueeze(-1) at the end.",
    },
    PRODUCT: {
        r"@|matmul|dot": FOR_PRODUCTS,
        r"_attn\(.*(key|, k)": "Query and key must be equally wide, and have equally many heads.",
        r"": "The last axis must be as long as the layer's input.",
    },
    r"must statically divide": "Without axis, MAX cuts the first one: F.chunk(x, 2, axis=-1) cuts the last.",
    OUTSIDE: {
        r"[\[(]": PLACES,
        r"": "What is unpacked falls apart along its first axis; F.split(x, [n, n], axis=-1) cuts the last one.",
    },
    r"unexpected keyword argument '(dim|dims)'": "MAX's word for it is axis.",
    r"no attribute 'tri[ul]'": "MAX has F.band_part, which keeps a band of diagonals; with exclude=True, all the rest.",
    r"no attribute 'masked_fill_?'": "Add the mask to the scores, or use F.where.",
    r"no attribute 'view'": "MAX's word for it is reshape, which takes one list.",
    r"no attribute 'contiguous'": "MAX needs none: leave it out.",
    r"no attribute 'size'": "MAX's word for it is shape: x.shape[0].",
    r"no attribute 'cat'": "MAX's word for it is concat.",
    r"transpose\(\) takes \d+ positional arguments": (
        "transpose swaps two axes, as in transpose(1, 2); permute takes the order of all, in one list."
    ),
    r"reshape\(\) takes \d+ positional arguments": "reshape takes one list: reshape([2, 24]).",
    r"permute\(\) takes \d+ positional arguments": "permute takes one list: permute([0, 2, 1]).",
    r"StaticDim": {
        r"sqrt|\*\* ?-?0?\.5": (
            "A size taken from a shape is not a plain number: math.sqrt(int(query.shape[-1])) makes it one."
        ),
        r"\bnp\.": (
            "NumPy wants a number, and a length has none while MAX compiles: it is a symbol. Tensor.arange and "
            "F.broadcast_to take it as it is."
        ),
        r"": (
            "A size taken from a shape is not a plain number. int(...) makes one of a size that is always the same, "
            "like the head width; a length is a symbol while MAX compiles."
        ),
    },
    r"(Symbol|Algebra)icDim|only supported for static dims": {
        r"total|past": (
            f"{A_SYMBOL} Give it to MAX's functions as it is and cut what they return, as in "
            "position_ids(total)[total - sequence_length:]."
        ),
        r"band_part": "num_lower and num_upper take no symbol; None keeps every diagonal on that side.",
        r"": f"{A_SYMBOL} Give it to MAX's functions as it is.",
    },
    r"dims to index into a list": {
        r"^(?!.*np\.(full|ones|zeros|tri|arange))": (
            "A size that is always the same, like the head width, becomes a number with int(...). A length is a symbol "
            "while MAX compiles, and has no number: pass it to MAX's functions as it is."
        ),
        r"": "NumPy needs numbers, and a length is a symbol while MAX compiles; Tensor.full takes it as it is.",
    },
    OF_BOOLEANS: (
        "MAX picks no elements by a mask, since how many there are would depend on the numbers. F.where(mask, x, y) "
        "takes x where the mask is true, and y where it is not."
    ),
    r"Invalid approximation method": "F.gelu knows approximate='none', 'tanh' and 'quick'.",
    r"no attribute '(cross_entropy|nll_loss)'": "MAX has no loss. Pick log-probabilities with F.gather_nd.",
    r"no attribute 'one_hot'": "MAX has none. Compare with Tensor.arange(vocab_size), and cast the result.",
    r"two numbers for each axis": "The first axis comes first: of two axes, F.pad(x, [0, 0, 0, 1]) appends one column.",
    NO_NUMBERS_YET: {
        rf"^(?!.*{CONDITION})": (
            "While the operations of a function are gathered into one graph, its tensors have no numbers yet. Return "
            "the tensor; the caller can ask for .item()."
        ),
        r"": (
            "While the operations of a function are gathered into one graph, its tensors have no numbers yet, and no "
            "condition can depend on them. F.where(condition, x, y), F.max(x, y) and F.min(x, y) choose in the graph."
        ),
    },
    r"__setitem__ requires a Tensor value": (
        "Only a tensor can be written into a tensor: x[i] = F.full_like(x[i], value). F.where(mask, value, x) makes a "
        "new one, with value where mask is true."
    ),
    r"Not enough dims in indices": "F.gather_nd wants indices with one axis more: indices.unsqueeze(-1).",
    r"Unsafe cast from si64": {
        r"^(?!.*(shape\[|ids\)|tokens\)))": (
            "MAX does not mix int64 with float32: cast the integers, .cast(DType.float32)."
        ),
        r"shape\[": "A size taken from a shape is an integer to MAX; int(x.shape[-1]) makes a plain number of it.",
        r"": "Token ids are only looked up, in an embedding; a layer takes what that returns.",
    },
    r"not supported between instances of '(tuple|list)' and 'int'": (
        "A sum or a mean runs over one axis. Make rows of the axes in front: x.reshape([-1, x.shape[-1]])."
    ),
    r"no attribute '(index|scatter)_add_?'": "F.scatter_nd_add(table, rows, indices) adds to the rows of a table.",
    r"no attribute 'einsum'": "MAX has none: a sum of products is a product of matrices, @.",
    r"values to unpack": {
        r"split\((?![\"')])|chunk": (
            "F.split takes the sizes of the parts, F.split(x, [n, n], axis=-1); F.chunk their number."
        ),
        r"split\(": "A text may have more or fewer parts than there are names; a starred one, *a, takes what is left.",
        r"^for \w+, \w+ in \w+:": "There must be as many parts as names. A dict gives its keys; .items() gives both.",
        r"": "There must be as many parts as names.",
    },
    r"Tensor(Value)?' object is not iterable": "F.concat and F.stack take one list: F.concat([x, y], axis=-1).",
    r"Unsupported slice": "A slice between symbols is a pair in parentheses: x[:, :, (slice(i, j), length)].",
    r"expected source to have shape": {
        r"(?i)key|value|cache|\b[kv]\b|:\s*,": (
            "What is assigned needs the shape of its slots: is it split into heads?"
        ),
        r"": "What is assigned needs the shape of its slots.",
    },
    r"must be tensor with integer": "Ids are whole numbers: make them with dtype=DType.int64.",
    r"num_(lower|upper)=": (
        "num_lower counts the diagonals kept below the main one, num_upper those above it; None keeps all of them."
    ),
    r"gather index": {
        r"wpe\(\w*(ids|tokens)": "wpe has a row for each position, and is given token ids.",
        r"": PLACES,
    },
    r"(Unary|Binary) ops": "F's functions take tensors. For plain numbers, use math.sqrt(n), math.exp(n), min(m, n).",
}

FUNCTIONS = (
    "abs|add|argmax|argmin|argsort|broadcast_to|cast|chunk|clamp|concat|cos|cumsum|div|erf|exp|flatten|"
    "floor|full_like|gather|gelu|layer_norm|log|logsoftmax|matmul|max|mean|min|mul|outer|pow|relu|"
    "repeat_interleave|round|rsqrt|sigmoid|silu|sin|softmax|split|sqrt|squeeze|stack|sub|sum|tanh|tile|top_k|"
    "unsqueeze|where|zeros_like"
)

#: Of a name that is missing, what is written instead in MAX and in NumPy.
ANY_REWRITES = (
    *(f"x.{name}() => x" for name in ("detach", "cpu", "numpy")),
    *(f"x.{name}(y) => x {sign} y" for name, sign in (("add", "+"), ("sub", "-"), ("mul", "*"), ("div", "/"))),
    "x.pow(n) => x ** n",
    "F.linear(x, w) => x @ w.T",
    "F.dropout(x, *a, **k) => x",
)

#: What step 16 writes instead of PyTorch's losses, one for each token and their mean, of ``x`` and targets ``t``.
TOKEN_LOSSES = "F.where(t != -100, -F.gather_nd({}, F.where(t != -100, t, 0).unsqueeze(-1), batch_dims=2), 0.0)"
MEAN_LOSS = "sum_all(token_losses(x, t)) / count_valid(t)"

#: What step 17 writes instead of a sum over batch and sequence, of products of rows, and of adding rows to a table.
SUM_OVER_ROWS = "F.sum(rows_of(x), axis=0).reshape([x.shape[-1]])"
PRODUCTS = "rows_of(x).T @ rows_of(y)"
ADDED = "F.scatter_nd_add(t, {}, {})"
ADDED_BY_TOKEN = ADDED.format("rows_of(g)", "i.reshape([-1, 1])")
EINSUMS = ("bto,bti->oi", "bso,bsi->oi", "btj,bti->ji", "...o,...i->oi", "...j,...i->ji", "no,ni->oi")

#: How calls lose a keyword that MAX lacks: its reductions keep their axis.
KEEPDIM_RULES = ("f(*a, dim=n, keepdim=b, **k) => f(*a, axis=n, **k)", "f(*a, keepdim=b, **k) => f(*a, **k)")

#: A pattern in a message → how to rewrite what failed (see ``checker.diagnosis.rewriting``). ``{0}`` is what the first
#: group of the pattern found; the first rule that fits is taken. Of a name that is missing, the rules about it.
REWRITES = {
    r"keyword argument '(?:dims?|keepdims?)'|required argument: 'axis'|'(?:tuple|list)' and 'int'": (
        "grad.sum(axis=(0, 1)) => sum_over_rows(grad)",
        "(grad * x).sum(axis=(0, 1)) => sum_over_rows(grad * x)",
        f"x.sum(axis=(0, 1)).reshape(s) => {SUM_OVER_ROWS}",
        f"x.sum(axis=(0, 1)) => {SUM_OVER_ROWS}",
        *(f"F.{f}(x, axis=(n, m)) => F.{f}(F.{f}(x, axis=n), axis=m)" for f in ("mean", "sum", "max", "min")),
        "x.max(axis=n).values => x.max(axis=n)",
        "x.max(axis=n)[0] => x.max(axis=n)",
        "F.gather(x, n, i) => F.gather(x, i, axis=n)",
        "f(x, i) => f(x, i, axis=0)",
        KEEPDIM_RULES[0],
        "f(*a, dim=n, **k) => f(*a, axis=n, **k)",
        KEEPDIM_RULES[1],
        "f(*a, keepdims=b, **k) => f(*a, **k)",
    ),
    r"updates rank must be": (
        f"F.scatter_nd_add(t, rows_of(g), i.reshape([-1])) => {ADDED_BY_TOKEN}",
        f"F.scatter_nd_add(t, rows_of(g), i) => {ADDED_BY_TOKEN}",
        f"F.scatter_nd_add(t, g, i.reshape([-1])) => {ADDED_BY_TOKEN}",
        f"F.scatter_nd_add(t, g, i.reshape([-1, 1])) => {ADDED_BY_TOKEN}",
        f"F.scatter_nd_add(t, g, i) => {ADDED.format('g', 'i.unsqueeze(-1)')}",
    ),
    r"two numbers for each axis": ("F.pad(x, (a, b), **k) => F.pad(x, [0, 0, a, b], **k)",),
    r"Not enough dims in indices": (
        "F.gather_nd(x, i, batch_dims=n) => F.gather_nd(x, i.unsqueeze(-1), batch_dims=n)",
    ),
    r"realize tensor before": ("x.item() => x", "min(x, y) => F.min(x, y)", "max(x, y) => F.max(x, y)"),
    r"must be a string or a real number, not 'Tensor'": ("float(x) => x",),
    r"clamp\(\) got an unexpected keyword": ("F.clamp(x, min=n) => F.max(x, n)", "F.clamp(x, max=n) => F.min(x, n)"),
    r"'float' object has no attribute 'exp'": ("x.exp() => math.exp(x)",),
    r"Unary ops do not support non-max objects": tuple(
        f"F.{f}(x) => math.{f}(x)" for f in ("exp", "log", "cos", "sqrt")
    ),
    r"Binary ops require": tuple(f"F.{f}(x, y) => {f}(x, y)" for f in ("min", "max")),
    r"name 'np' is not defined": tuple(f"np.{f}(x) => math.{f}(x)" for f in ("exp", "log", "log2")),
    r"name 'torch' is not defined": (
        "torch.isfinite(x) => math.isfinite(x)",
        "torch.cos(math.pi * x) => math.cos(math.pi * x)",
    ),
    r"(reshape|permute|broadcast_to)\(\) takes": ("x.{0}(*a) => x.{0}([*a])",),
    r"Tensor(Value)?' object is not iterable": ("F.concat(*a, **k) => F.concat([*a], **k)",),
    r"transpose\(\) (takes|missing)": tuple(f"x.transpose({axes}) => x.permute([*a])" for axes in SEVERAL),
    r"to\(\) expects Device.*got DType": ("x.to(t) => x.cast(t)",),
    r"Invalid approximation method": ('F.gelu(x, approximate=b) => F.gelu(x, approximate="tanh")',),
    r"required argument: '(gamma|beta|epsilon)'|too many positional|unexpected keyword argument 'eps'": (
        "F.layer_norm(x, s, w, b, eps=e) => F.layer_norm(x, w, b, e)",
        "F.layer_norm(x, s, weight=w, bias=b, eps=e) => F.layer_norm(x, w, b, e)",
        "F.layer_norm(x, w, b, eps=e) => F.layer_norm(x, w, b, e)",
        "F.layer_norm(x, weight=w, bias=b, eps=e) => F.layer_norm(x, w, b, e)",
        "F.rms_norm(x, s, w, eps=e) => F.rms_norm(x, w, e)",
        "F.rms_norm(x, w, eps=e) => F.rms_norm(x, w, e)",
    ),
    r"'(int|StaticDim)' object is not iterable|(ones|zeros)\(\) takes": tuple(
        f"{owner}.{f}(*a, **k) => {owner}.{f}([*a], **k)" for owner in ("Tensor", "F") for f in ("ones", "zeros")
    ),
    r"Linear.__init__\(\) got": ("Linear(in_features=a, out_features=b, **k) => Linear(a, b, **k)",),
    r"Embedding.__init__\(\) got": ("Embedding(num_embeddings=n, embedding_dim=d) => Embedding(n, dim=d)",),
    r"dims to index into a list": ("math.sqrt(n) => math.sqrt(int(n))", "np.sqrt(n) => np.sqrt(int(n))"),
    r"\*\* or pow\(\): 'StaticDim'": ("x ** p => int(x) ** p",),
    r"can not be created directly from a 'int'": ("F.gather(x, n, i) => F.gather(x, i, axis=n)",),
    r"Unsupported slice inputs dim=.* index=slice": (
        "x[:, :, i : i + n] = v => x[:, :, (slice(TensorValue(Dim(i)), TensorValue(Dim(i) + n)), n)] = v",
        "x[:, :, i:j] = v => x[:, :, (slice(i, j), v.shape[-2])] = v",
        "x[:, :, slice(i, j), n] = v => x[:, :, (slice(i, j), n)] = v",
    ),
    r"adds up numbers and no booleans": (
        "x.sum().float() => F.sum(x.cast(DType.float32), axis=None).reshape([])",
        *(f"x.sum(){shaped} => F.sum(x.cast(DType.float32), axis=None).reshape([])" for shaped in (".reshape([])", "")),
        "F.sum(F.where(m, 1.0, 0.0), axis=None) => F.sum(m.cast(DType.float32), axis=None)",
        "F.sum(x, axis=None) => F.sum(x.cast(DType.float32), axis=None)",
        "F.sum(x, axis=n) => F.sum(x.cast(DType.int64), axis=n)",
    ),
    rf"{OF_BOOLEANS}$": (
        "x[m].mean() => F.sum(F.where(m, x, 0.0), axis=None).reshape([]) "
        "/ F.sum(m.cast(DType.float32), axis=None).reshape([])",
        "x[m].sum() => F.sum(F.where(m, x, 0.0), axis=None).reshape([])",
    ),
    rf"Slice index value must be a scalar.*(?<!{OF_BOOLEANS})$": (
        f"t[i] += g => t = {ADDED_BY_TOKEN}",
        "x[i] => F.gather(x, i, axis=0)",
    ),
    r"__setitem__ requires a Tensor value": (
        *(f"x[i {sign} j] = v => x = F.where(i {sign} j, v, x)" for sign in SIGNS),
        "x[...] = v => x[...] = F.full_like(x, v)",
    ),
    r"support argument 0 of type Tensor which has no callable (\w+)": ("np.{0}(*a, **k) => F.{0}(*a, **k)",),
    r"must be real number, not Tensor": tuple(f"math.{f}(x) => F.{f}(x)" for f in ("sqrt", "exp", "tanh")),
    r'can only concatenate list \(not "tuple"\)': ("s + (*a,) => [*s, *a]",),
    r"has no len\(\)": ("len(x) => x.shape[0]",),
    r"tuple index out of range": ("F.qmatmul(e, x, w) => F.qmatmul(e, None, x, w)",),
    MISSING: (
        *ANY_REWRITES,
        "torch.autograd.grad(cross_entropy(x, t), x)[0] => cross_entropy_backward(x, t)",
        "cross_entropy(x, t).backward() => cross_entropy_backward(x, t)",
        *(f"x.{name}(*a) => pass" for name in ("backward", "zero_grad", "retain_grad")),
        "x.requires_grad_(*a) => x",
        "x.named_parameters() => x.parameters",
        "checkpoint(f, *a, **k) => f(*a)",
        "torch.nn.utils.clip_grad_norm_(g.values(), n) => "
        "F.sqrt(sum(F.sum(F.sum(x * x, axis=-1), axis=None).reshape([]) for x in g.values()))",
        *(f"x.{name} => x.T" for name in ("t()", "mT")),
        "x.data => x",
        *(f"x.{name} => x.rank" for name in ("ndim", "dim()")),
        "math.sqrt(x.size(n)) => math.sqrt(int(x.shape[n]))",
        "x.size(n) => x.shape[n]",
        "x.size() => x.shape",
        *(f"x{c}.view({sizes}) => x.reshape([*a])" for c in (".contiguous()", "") for sizes in SEVERAL),
        "x.expand(*a) => x.broadcast_to([*a])",
        "x.repeat(*a) => F.tile(x, [*a])",
        *(f"x.{name}(*a) => x.transpose(*a)" for name in ("swapaxes", "swapdims")),
        *(f"x.{name}() => x" for name in ("contiguous", "clone")),
        *(f"x.{n}() => x.cast(DType.{t})" for n, t in (("float", "float32"), ("long", "int64"), ("int", "int32"))),
        *(f"x.{name}(t) => x.cast(t)" for name in ("astype", "type_as")),
        "x.new_full(s, v) => Tensor.full(s, v, dtype=x.dtype, device=x.device)",
        *(f"F.{name}(*a, **k) => F.concat(*a, **k)" for name in ("cat", "concatenate")),
        'x.masked_fill(m == 0, float("-inf")) => x + m',  # a mask of 0 and -inf, such as causal_mask
        *(f"x.{name}(m, v) => F.where(m, v, x)" for name in ("masked_fill", "masked_fill_")),
        "x.square() => x * x",
        "x.var(*a, **k) => ((x - x.mean(-1)) ** 2).mean(-1)",
        "x.std(*a, **k) => F.sqrt(((x - x.mean(-1)) ** 2).mean(-1))",
        "x.norm() => F.sqrt(F.sum(F.sum(x * x, axis=-1), axis=None).reshape([]))",
        "x.add(y, alpha=a) => x + a * y",
        "grad.add_(y) => grad = grad + y",
        "grad.add_(y) => grad + y",
        "x.mul_(b).add_(y, alpha=a) => b * x + a * y",
        "x.mul_(b).addcmul_(y, z, value=a) => b * x + a * y * z",
        "x.add_(y) => x[...] = x + y",
        "x.add_(y, alpha=a) => x[...] = x + a * y",
        "x.mul_(b) => x[...] = b * x",
        *(f"x.{name}(y, a) => x + a * (y - x)" for name in ("lerp", "lerp_")),
        "x.copy_(y) => x[...] = y",
        "x.zero_() => x[...] = F.zeros_like(x)",
        *(f"F.{name}(x, y) => x @ y" for name in ("bmm", "matmul", "mm")),
        *(f"F.einsum({axes!r}, x, y) => {PRODUCTS}" for axes in EINSUMS),
        *(f"F.einsum('bh{q}{k},bh{k}d->bh{q}d', x, y) => x @ y" for q, k in ("qk", "ij")),
        *(f"F.einsum('bh{q}d,bh{k}d->bh{q}{k}', x, y) => x @ y.transpose(-2, -1)" for q, k in ("qk", "ij")),
        *(f"F.einsum('bh{q}{k},bh{q}d->bh{k}d', x, y) => x.transpose(-2, -1) @ y" for q, k in ("qk", "ij")),
        f"torch.outer(x, y) => {PRODUCTS}",
        f"torch.sum(x, axis=(0, 1)) => {SUM_OVER_ROWS}",
        f"np.add.at(t, i, g) => t = {ADDED_BY_TOKEN}",
        f"t.index_add_(0, i.reshape([-1]), g) => t = {ADDED.format('g', 'i.reshape([-1, 1])')}",
        f"t.index_add_(0, i, g) => t = {ADDED_BY_TOKEN}",
        *(f"t.{name}(0, i.reshape([-1]), g) => {ADDED.format('g', 'i.reshape([-1, 1])')}" for name in INDEX_ADD),
        *(f"t.{name}(0, i, g) => {ADDED_BY_TOKEN}" for name in INDEX_ADD),
        f"t.scatter_add_(0, i, g) => t = {ADDED.format('g', 'i')}",
        *(f"t.{name}(0, i, g) => {ADDED.format('g', 'i')}" for name in ("scatter_add", "scatter_add_")),
        "x.gather(n, i).squeeze(axis=n) => F.gather_nd(x, i, batch_dims=2)",
        *(f"F.{f}imum({a}) => {f}({a})" for f in ("min", "max") for a in ("1.0, x", "x, 1.0", "1, x", "x, 1")),
        *(f"F.{f}imum(x, y) => F.{f}(x, y)" for f in ("min", "max")),
        "x.amax(axis=n) => x.max(axis=n)",
        "x - x.logsumexp(axis=n) => F.logsoftmax(x, axis=n)",
        "x.log_softmax(axis=n) => F.logsoftmax(x, axis=n)",
        *(f"F.nll_loss({pair}, **k) => {TOKEN_LOSSES.format('x')}" for pair in ("x.transpose(1, 2), t", "x, t")),
        f"F.cross_entropy(x.transpose(1, 2), t, reduction='none', **k) => {TOKEN_LOSSES.format('log_softmax(x)')}",
        *(f"F.cross_entropy(x.{f}(*a), t.{f}(*b), **k) => {MEAN_LOSS}" for f in ("view", "reshape")),
        "F.one_hot(t, n) => "
        "(t.unsqueeze(-1) == Tensor.arange(int(n), dtype=t.dtype, device=t.device)).cast(DType.float32)",
        "F.linear(x, w, b) => x @ w.T + b",
        'F.gelu_new(x) => F.gelu(x, approximate="tanh")',
        "nn.functional.pad(x, (a, b), **k) => F.pad(x, [0, 0, a, b], **k)",
        "x.triu(diagonal=n + 1) => F.band_part(x, None, n, exclude=True)",
        "x.triu(diagonal=1 + n) => F.band_part(x, None, n, exclude=True)",
        "x.triu(diagonal=1) => F.band_part(x, None, 0, exclude=True)",
        "x.tril(diagonal=n) => F.band_part(x, None, n)",
        "x.tril() => F.band_part(x, None, 0)",
        *(f"torch.{name}(*a, **k) => Tensor.{name}(*a, **k)" for name in ("full", "arange")),
        "torch.tensor(*a, **k) => Tensor(*a, **k)",
        *(f"torch.{name}(*a) => Tensor.{name}([*a])" for name in ("ones", "zeros")),
        *(f"F.{name}(*a, **k) => F.{name}(*a, **k)" for name in FUNCTIONS.split("|")),
        "nn.Embedding(n, d) => Embedding(n, dim=d)",
        *(f"nn.{name}(*a, **k) => {name}(*a, **k)" for name in ("Linear", "Embedding", "LayerNorm", "Sequential")),
        "nn.Parameter(x) => x",
        "nn.ModuleList([a for i in j]) => Sequential(*[a for i in j])",
    ),
}

#: The same for messages that come from a line other than the one which is to blame: it may stand anywhere in the file.
REWRITES_ANYWHERE = {r"value add\(.*neither equivalent nor broadcastable": ("x[-n:] => x[x.shape[0] - n :]",)}

#: Names that files of steps use, and the statement that imports each.
IMPORTS = {
    "math": "import math",
    "F": "from max.experimental import functional as F",
    "Tensor": "from max.experimental.tensor import Tensor",
    "DType": "from max.dtype import DType",
    **{name: f"from max.graph import {name}" for name in ("Dim", "DimLike", "TensorValue")},
    **{name: f"from max.experimental.nn import {name}" for name in ("Embedding", "Linear", "Module", "Sequential")},
    **{name: f"from dataclasses import {name}" for name in ("dataclass", "field")},
    **{name: f"from functools import {name}" for name in ("partial", "reduce")},
    **{name: f"from itertools import {name}" for name in ("chain", "pairwise")},
    **{name: f"from collections import {name}" for name in ("Counter", "defaultdict")},
}


def advice_on(message: str, advice: Mapping[str, Advice] = ADVICE, code: str = "") -> str:
    """Return what to write instead, or nothing if there is no advice on a message.

    Args:
        message: the message of the error.
        advice: the advice of a library.
        code: the statement that failed, if it is known.
    """
    fitting = [words for pattern, words in advice.items() if re.search(pattern, message)]
    return " ".join(_fitting_advice(words, code) for words in fitting)


def _fitting_advice(words: Advice, code: str) -> str:
    """Return the advice that fits the statement ``code``; the last pattern of a choice fits any."""
    if isinstance(words, str):
        return words
    return next(advice for pattern, advice in words.items() if not code or re.search(pattern, code))


def rewrites_for(message: str, rewrites: Mapping[str, Sequence[str]] = REWRITES) -> list[str]:
    """Return the rules that rewrite a statement which has failed with a message."""
    rules = []
    for pattern, candidates in rewrites.items():
        match = re.search(pattern, message)
        if match is None:
            continue
        name = match[1] if match.groups() and match[1] else ""
        if pattern == MISSING:
            candidates = rules_for_missing(name, rewrites)
        rules += [rule.replace("{0}", name) for rule in candidates]
    return rules


def rules_for_missing(name: str, rewrites: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Return the rules about a name or attribute that is missing: all that there are, if it is a library's."""
    if name in LIBRARIES:
        return rewrites[MISSING]
    return [rule for rule in rewrites[MISSING] if re.search(rf"\b{name}\b", rule.partition(" => ")[0])]


def message_of_error(error: BaseException) -> str:
    """Return the message of an error in one line, without MAX's internals, and with a fact that MAX leaves out."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    if isinstance(error, AssertionError) and not str(error) and _is_in_padding(frames):
        return PADDING
    message = without_internals(str(error))
    if "Slice index value" in str(error) and frames and _has_mask_as_index(frames[-1]):
        message += OF_BOOLEANS
    return message


def _is_in_padding(frames: Iterable[FrameType]) -> bool:
    """Return whether a function ``pad`` of MAX's was running."""
    modules = [frame.f_globals.get("__name__", "") for frame in frames if frame.f_code.co_name == "pad"]
    return any(module.startswith("max.") for module in modules)


def _has_mask_as_index(frame: FrameType) -> bool:
    """Return whether a function of MAX's that slices was given booleans."""
    dtype = getattr(frame.f_locals.get("index"), "dtype", None)
    return str(getattr(dtype, "name", "")) == "bool"


def shorten(message: str) -> str:
    """Return as much of a message as a verdict shows."""
    return message if len(message) <= LONGEST else f"{message[:LONGEST]} …"


#: MAX's words if an operation cannot be added to a graph: the operation's name, and why.
DIAGNOSED = re.compile(r"Failed to create op '(\w+?)(?:Op)?':.*?Diagnostics:\s*(.*?)\n", re.DOTALL)
#: MAX's words if it has no diagnosis of such an operation.
NOT_DIAGNOSED = re.compile(r"Failed to create op '(\w+?)(?:Op)?':.*\n\s*\n(?:'\S+' op )?(.+)$", re.DOTALL)
#: MAX's words if a kernel has ended with an error.
OF_A_KERNEL = re.compile(r'kernel named "\w+":\s*([^"]*?)\s*Fusion info')


def without_internals(message: str) -> str:
    """Return a message in one line; for a graph operation that failed, return its name and MAX's diagnosis."""
    if match := DIAGNOSED.match(message):
        diagnosis = re.sub(r"#mosh<ape(\[.*?\])> : !mosh\.ape", r"\1", match[2]).partition(". Insert an explicit")[0]
        message = f"{match[1]}: {diagnosis}."
    elif match := NOT_DIAGNOSED.match(message):
        diagnosis = re.sub(r"'!mo\.tensor<(.*?)>'", r"\1", match[2])
        message = f"{match[1]}: {diagnosis}"
    elif match := OF_A_KERNEL.search(message):
        message = match[1]
    message = re.sub(r"for axis \d+ with size", "for an axis of size", message)  # a table's rows are called axis 1
    return " ".join(message.split())
