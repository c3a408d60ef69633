"""The texts of NumPy's error messages, with advice for people who know PyTorch or MAX."""

from __future__ import annotations

from checker.max_adapter import max_errors
from checker.max_adapter.max_errors import ANY_ADVICE, ANY_REWRITES, MISSING, Advice

IMPORTS = max_errors.IMPORTS | {"np": "import numpy as np"}

ADVICE: dict[str, Advice] = ANY_ADVICE | {
    r"unexpected keyword argument '(dim|dims)'": "NumPy's word for it is axis.",
    r"unexpected keyword argument 'keepdim'": "NumPy's word for it is keepdims.",
    r"no attribute 'masked_fill_?'": "NumPy has np.where(condition, there, elsewhere).",
    r"no attribute 'tri[ul]'": "These are functions in NumPy: np.tril(x), np.triu(x).",
    r"as a data type|sub-type of ndarray|view\(\) takes": (
        "NumPy's view gives the same bytes another type; another shape is reshape(2, 3)."
    ),
    r"no attribute 'permute'": "NumPy's transpose orders all axes: x.transpose(0, 2, 1, 3).",
    r"axes don't match array": "NumPy's transpose takes the order of all axes; np.swapaxes(x, -2, -1) swaps two.",
    r"no attribute 'unsqueeze'": "x[:, None] adds an axis.",
    r"no attribute 'cat'": "NumPy's word for it is concatenate.",
    r"no attribute '(append|extend)'": "An array keeps its size: assign to a part of it, x[..., first:end, :] = new.",
    r"numpy.* has no attribute 'softmax'": "NumPy has no softmax; use yours from warm-up 01, or exp and a sum.",
    r"no attribute '(exp|sqrt|matmul)'": "This is a function in NumPy: np.exp(x), np.sqrt(x), a @ b.",
    r"no attribute 'pow'": "A power is x**2.",
    r"no attribute '(to|float|double|long)'": "NumPy's word for it is astype: x.astype(np.float32).",
    r"read-only": (
        "This changes the caller's array. Make a new one: x = x * 2, not x *= 2; "
        "np.where(condition, 0, x), not x[condition] = 0."
    ),
    r"same number of dimensions": "Joined arrays need equally many axes: x[:, None] makes a column.",
    r"match exactly": "Arrays are joined along the first axis, unless you say another: np.concatenate([x, y], axis=1).",
    r"tokenizers\.Encoding": "encode returns an Encoding, whose .ids are its tokens.",
    r"must be 1-dimensional": "rng.choice takes the probabilities of one row: draw row by row.",
    r"Probabilities are not|probabilities do not": "They must be 0 or more, and add up to 1: take the softmax first.",
    r"truth value of an": (
        "An array has many truth values: .all() or .any() makes one of them, and `x is None` asks whether there is one."
    ),
    r"of an empty sequence": "The array is empty: test .size first, or use .any().",
    r"inhomogeneous": "Its lists differ in length, or a list stands beside a number: [a, *b] takes the items of b.",
    r"both or neither of x and y": "np.where takes all three: np.where(condition, there, elsewhere).",
}

FUNCTIONS = (
    "abs|add|argsort|broadcast_to|concatenate|cos|dot|einsum|empty_like|exp|expand_dims|eye|log|matmul|maximum|minimum|"
    "multiply|ones_like|outer|sin|split|sqrt|square|stack|swapaxes|tanh|tril|triu|where|zeros_like"
)

IN_PLACE = {"add": "+", "sub": "-", "mul": "*", "div": "/"}

KEEPDIM_RULES = (
    "f(*a, dim=n, keepdim=b, **k) => f(*a, axis=n, keepdims=b, **k)",
    "f(*a, keepdim=b, **k) => f(*a, keepdims=b, **k)",
)

#: A pattern in a message → how to rewrite what failed, as in ``checker.max_adapter.max_errors``.
REWRITES = {
    r"keyword argument '(?:dims?|keepdim)'|'dim' is an invalid keyword": (
        *KEEPDIM_RULES,
        "f(*a, dim=n, **k) => f(*a, axis=n, **k)",
    ),
    r"unexpected keyword argument 'diagonal'": ("f(x, diagonal=n) => f(x, k=n)",),
    r"unexpected keyword argument 'unbiased'": ("f(*a, unbiased=b, **k) => f(*a, **k)",),
    r"unexpected keyword argument 'descending'": ("np.argsort(x, axis=n, descending=True) => np.argsort(-x, axis=n)",),
    r"as a data type|sub-type of ndarray|view\(\) takes|data type .* not understood": (
        "x.view(*a) => x.reshape(*a)",
        *(f"np.{name}(*a) => np.{name}((*a,))" for name in ("ones", "zeros")),
    ),
    r"axes don't match array": (
        "np.transpose(x, (a, b)) => np.swapaxes(x, a, b)",
        "x.transpose(a, b) => x.swapaxes(a, b)",
    ),
    r"'Cache' object is not subscriptable": (
        *(
            f"x[{at}] => x.{name}"
            for at, name in (('"keys"', "keys"), ('"values"', "values"), (0, "keys"), (1, "values"))
        ),
    ),
    r"cannot unpack non-iterable Cache object": ("a, b = x => a, b = (x.keys, x.values)",),
    r"object of type 'Cache' has no len": ("len(x) => x.length",),
    r"'int' object is not callable": ("x.size(n) => x.shape[n]", "x.size() => x.shape"),
    r"only (length-1|0-dimensional) arrays can be converted": tuple(
        f"math.{name}(x) => np.{name}(x)" for name in ("sqrt", "exp", "tanh")
    ),
    r"order must be str": ("x.flatten(-2) => x.reshape(*x.shape[:-2], -1)", "x.flatten(1) => x.reshape(len(x), -1)"),
    r"could not be broadcast": (
        "x / x.sum(axis=n) => x / x.sum(axis=n, keepdims=True)",
        "x - x.max(axis=n) => x - x.max(axis=n, keepdims=True)",
    ),
    r"same number of dim": ("np.concatenate([x, y], axis=1) => np.concatenate([x, y[:, None]], axis=1)",),
    r"must be 1-dimensional": ("rng.choice(n, p=x) => np.array([rng.choice(n, p=r) for r in x])",),
    r"mismatch in its core dimension": (
        "x.T @ y => np.swapaxes(x, -2, -1) @ y",
        "x @ y.T => x @ np.swapaxes(y, -2, -1)",
    ),
    r"boolean index did not match": ("x[m] = v => x = np.where(m, v, x)",),
    r"'(?:list|bytes|str|dict)' object has no attribute '(shape|size|length)'": (
        "x.shape[0] => len(x)",
        "x.{0} => len(x)",
    ),
    r"'list' object has no attribute '(push|add)'": ("x.{0}(y) => x.append(y)",),
    r"'list' object has no attribute 'tolist'": ("x.tolist() => x",),
    r"'dict' object has no attribute 'iter(items|keys|values)'": ("x.iter{0}() => x.{0}()",),
    r"can only concatenate list \(not \"int\"\)": ("x + y => x + [y]",),
    r"'int' object is not iterable": ("x += y => x += [y]",),
    r"^\(\d+, \d+\)$": ("x[k] += n => x[k] = x.get(k, 0) + n",),  # a KeyError
    r"expected str instance, bytes found": ('"".join(*a) => b"".join(*a)',),
    r"read-only": (
        *(f"x {sign}= y => x = x {sign} y" for sign in "*/+-"),
        "x[m] = v => x = np.where(m, v, x)",
    ),
    MISSING: (
        *ANY_REWRITES,
        *(f"x.{name}(m, v) => np.where(m, v, x)" for name in ("masked_fill", "masked_fill_")),
        "x.permute(*a) => x.transpose(*a)",
        "x.unsqueeze(axis=n) => np.expand_dims(x, n)",
        *(f"np.{name}(*a, **k) => np.concatenate(*a, **k)" for name in ("cat", "concat")),
        "x.softmax(*a, **k) => softmax(x)",
        "x.gelu(*a, **k) => gelu(x)",
        *(f"x.{name}(y) => x @ y" for name in ("bmm", "mm", "matmul")),
        *(f"x.{name}() => x.astype(np.float32)" for name in ("float", "half", "double")),
        *(f"x.{name}() => x.astype(np.int64)" for name in ("long", "int")),
        *(f"x.{name}(t) => x.astype(t)" for name in ("to", "type")),
        "x.bool() => x.astype(bool)",
        *(f"x.clamp({bounds}) => x.clip(a, b)" for bounds in ("a, b", "min=a, max=b")),
        "x.gather(n, i) => np.take_along_axis(x, i, axis=n)",
        "x.clone() => x.copy()",
        *(f"x.{name}_(y) => x = x {sign} y" for name, sign in IN_PLACE.items()),
        *(f"x.{name}_(y) => x {sign} y" for name, sign in IN_PLACE.items()),
        "x[i].copy_(y) => x[i] = y",
        "x.copy_(y) => x[:] = y",
        "x.index_copy_(2, i, y) => x[:, :, i] = y",
        "x.contiguous() => np.ascontiguousarray(x)",
        "x.dim() => x.ndim",
        "x.numel() => x.size",
        "x.mT => np.swapaxes(x, -1, -2)",
        "x.t() => np.ascontiguousarray(x.T)",
        "x.expand(*a) => np.broadcast_to(x, (*a,))",
        "x.swapdims(*a) => x.swapaxes(*a)",
        "x.chunk(n, axis=d) => np.split(x, n, axis=d)",
        "F.one_hot(x, num_classes=n) => np.eye(n)[x]",
        *(f"torch.{name}(*a, **k) => np.{name}((*a,), **k)" for name in ("zeros", "ones")),
        "torch.triu(x, diagonal=n) => np.triu(x, k=n)",
        "torch.tensor(*a, **k) => np.array(*a, **k)",
        *(f"torch.{name}(*a, **k) => np.{name}(*a, **k)" for name in ("arange", "round")),
        "torch.topk(x, n)[0][:, -1:] => np.partition(x, -n, axis=-1)[:, -n, None]",
        *(f"torch.{name}(x, axis=n) => np.{name}(x, axis=n)" for name in ("sum", "mean", "argmax")),
        *(f"np.{name}(*a, **k) => np.{name}(*a, **k)" for name in FUNCTIONS.split("|")),
    ),
}
