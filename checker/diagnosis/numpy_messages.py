"""The texts of NumPy's error messages: what people who know PyTorch or MAX meant, and what to write instead."""

from __future__ import annotations

ADVICE = {
    r"unexpected keyword argument '(dim|dims)'": "NumPy's word for it is axis.",
    r"unexpected keyword argument 'keepdim'": "NumPy's word for it is keepdims.",
    r"no attribute 'masked_fill_?'": "NumPy has np.where(condition, there, elsewhere).",
    r"no attribute 'tri[ul]'": "These are functions in NumPy: np.tril(x), np.triu(x).",
    r"as a data type|sub-type of ndarray|view\(\) takes": (
        "NumPy's view gives the same bytes another type; another shape is reshape(2, 3)."
    ),
    r"no attribute 'permute'": "NumPy's transpose orders all axes: x.transpose(0, 2, 1, 3).",
    r"axes don't match array": "NumPy's transpose takes the order of all axes; np.swapaxes(x, 1, 2) swaps two.",
    r"no attribute 'unsqueeze'": "x[:, None] adds an axis.",
    r"no attribute 'cat'": "NumPy's word for it is concatenate.",
    r"no attribute '(append|extend)'": "An array keeps its size: assign to a part of it, x[..., first:end, :] = new.",
    r"no attribute 'softmax'": "NumPy has no softmax; use yours from warm-up 01, or exp and a sum.",
    r"no attribute '(exp|sqrt|matmul)'": "This is a function in NumPy: np.exp(x), np.sqrt(x), a @ b.",
    r"no attribute 'pow'": "A power is x**2.",
    r"no attribute '(backward|grad|requires_grad_?)'": (
        "NumPy does not remember how a number was made, so it cannot go back; the gradient is a formula to write."
    ),
    r"no attribute '(to|float|double|long)'": "NumPy's word for it is astype: x.astype(np.float32).",
    r"read-only": (
        "This changes the array that came in, which belongs to the caller. Make a new one: x = x * 2, not x *= 2; "
        "np.where(condition, 0, x), not x[condition] = 0."
    ),
}

FUNCTIONS = (
    "abs|add|argsort|broadcast_to|concatenate|cos|dot|einsum|empty_like|exp|expand_dims|eye|log|matmul|maximum|minimum|"
    "multiply|ones_like|outer|sin|split|sqrt|square|stack|swapaxes|tanh|tril|triu|where|zeros_like"
)

#: A pattern in a message → how to rewrite what failed (see ``checker.diagnosis.rewriting``). ``{0}`` is what the first
#: group of the pattern found; the first rule that fits is taken.
REWRITES = {
    r"unexpected keyword argument 'keepdim'": (
        "f(*a, dim=n, keepdim=b, **k) => f(*a, axis=n, keepdims=b, **k)",
        "f(*a, keepdim=b, **k) => f(*a, keepdims=b, **k)",
    ),
    r"unexpected keyword argument 'dims?'|'dim' is an invalid keyword": (
        "f(*a, dim=n, keepdim=b, **k) => f(*a, axis=n, keepdims=b, **k)",
        "f(*a, dim=n, **k) => f(*a, axis=n, **k)",
        "f(*a, dims=n, **k) => f(*a, axis=n, **k)",
    ),
    r"unexpected keyword argument 'diagonal'": ("f(x, diagonal=n) => f(x, k=n)",),
    r"unexpected keyword argument 'unbiased'": ("f(*a, unbiased=b, **k) => f(*a, **k)",),
    r"no attribute 'masked_fill_?'": (
        "x.masked_fill(m, v) => np.where(m, v, x)",
        "x.masked_fill_(m, v) => np.where(m, v, x)",
        "np.masked_fill(x, m, v) => np.where(m, v, x)",
    ),
    r"as a data type|sub-type of ndarray|view\(\) takes|data type .* not understood": (
        "x.view(*a) => x.reshape(*a)",
        "np.ones(*a) => np.ones((*a,))",
        "np.zeros(*a) => np.zeros((*a,))",
    ),
    r"no attribute 'permute'": ("x.permute(*a) => x.transpose(*a)",),
    r"axes don't match array": (
        "np.transpose(x, (a, b)) => np.swapaxes(x, a, b)",
        "x.transpose(a, b) => x.swapaxes(a, b)",
    ),
    r"no attribute 'unsqueeze'": (
        "x.unsqueeze(n) => np.expand_dims(x, n)",
        "x.unsqueeze(dim=n) => np.expand_dims(x, n)",
    ),
    r"no attribute '(cat|concat)'": (
        "np.{0}(*a, dim=n) => np.concatenate(*a, axis=n)",
        "np.{0}(*a, **k) => np.concatenate(*a, **k)",
    ),
    r"module 'numpy' has no attribute '(softmax|gelu)'": ("np.{0}(x, *a, **k) => {0}(x)",),
    r"'numpy.ndarray' object has no attribute 'softmax'": ("x.softmax(*a, **k) => softmax(x)",),
    r"'numpy.\w+' object has no attribute '(bmm|mm|matmul)'": ("x.{0}(y) => x @ y",),
    r"module 'numpy' has no attribute '(bmm|mm)'": ("np.{0}(x, y) => x @ y",),
    rf"'numpy.\w+' object has no attribute '({FUNCTIONS})'": ("x.{0}(*a, **k) => np.{0}(x, *a, **k)",),
    r"no attribute 'pow'": ("x.pow(n) => x ** n", "np.pow(x, n) => x ** n"),
    r"no attribute '(float|half|double)'": ("x.{0}() => x.astype(np.float32)",),
    r"no attribute '(long|int)'": ("x.{0}() => x.astype(np.int64)",),
    r"no attribute 'to'": ("x.to(t) => x.astype(t)",),
    r"no attribute 'type'": ("x.type(t) => x.astype(t)",),
    r"no attribute 'bool'": ("x.bool() => x.astype(bool)",),
    r"no attribute 'clamp_?'": ("x.clamp(a, b) => x.clip(a, b)", "x.clamp(min=a, max=b) => x.clip(a, b)"),
    r"no attribute 'gather'": ("x.gather(n, i) => np.take_along_axis(x, i, axis=n)",),
    r"no attribute 'clone'": ("x.clone() => x.copy()",),
    r"no attribute 'add_?'": ("x.add(y) => x + y", "x.add_(y) => x = x + y", "x.add_(y) => x + y"),
    r"no attribute 'sub_?'": ("x.sub(y) => x - y", "x.sub_(y) => x = x - y", "x.sub_(y) => x - y"),
    r"no attribute 'mul_?'": ("x.mul(y) => x * y", "x.mul_(y) => x = x * y", "x.mul_(y) => x * y"),
    r"no attribute 'div_?'": ("x.div(y) => x / y", "x.div_(y) => x = x / y", "x.div_(y) => x / y"),
    r"no attribute 'copy_'": ("x[i].copy_(y) => x[i] = y", "x.copy_(y) => x[:] = y"),
    r"no attribute 'index_copy_'": (
        "x.index_copy_(2, i, y) => x[:, :, i] = y",
        "x.index_copy_(-2, i, y) => x[..., i, :] = y",
    ),
    r"'Cache' object is not subscriptable": (
        'x["keys"] => x.keys',
        'x["values"] => x.values',
        "x[0] => x.keys",
        "x[1] => x.values",
    ),
    r"cannot unpack non-iterable Cache object": ("a, b = x => a, b = (x.keys, x.values)",),
    r"object of type 'Cache' has no len": ("len(x) => x.length",),
    r"no attribute 'contiguous'": ("x.contiguous() => np.ascontiguousarray(x)",),
    r"no attribute '(detach|cpu|numpy|values)'": ("x.{0}() => x", "x.{0} => x"),
    r"'int' object is not callable": ("x.size(n) => x.shape[n]", "x.size() => x.shape"),
    r"no attribute 'dim'": ("x.dim() => x.ndim",),
    r"no attribute 'numel'": ("x.numel() => x.size",),
    r"no attribute 'mT'": ("x.mT => np.swapaxes(x, -1, -2)",),
    r"no attribute 'expand'": ("x.expand(*a) => np.broadcast_to(x, (*a,))",),
    r"no attribute 'dropout'": ("np.dropout(x, *a, **k) => x",),
    r"name 'torch' is not defined": (
        "torch.softmax(x, *a, **k) => softmax(x)",
        "torch.chunk(x, n, dim=d) => np.split(x, n, axis=d)",
        "torch.cat(*a, dim=n) => np.concatenate(*a, axis=n)",
        "torch.matmul(x, y) => x @ y",
        "torch.bmm(x, y) => x @ y",
        "torch.zeros(*a, **k) => np.zeros((*a,), **k)",
        "torch.ones(*a, **k) => np.ones((*a,), **k)",
        "torch.triu(x, diagonal=n) => np.triu(x, k=n)",
        "torch.pow(x, n) => x ** n",
        "torch.tensor(*a, **k) => np.array(*a, **k)",
        "torch.arange(*a, **k) => np.arange(*a, **k)",
        "torch.sum(x, dim=n) => np.sum(x, axis=n)",
        "torch.mean(x, dim=n) => np.mean(x, axis=n)",
        "torch.argmax(x, dim=n) => np.argmax(x, axis=n)",
        "torch.round(x) => np.round(x)",
        "torch.clamp(x, a, b) => np.clip(x, a, b)",
        *(f"torch.{name}(*a, **k) => np.{name}(*a, **k)" for name in FUNCTIONS.split("|")),
    ),
    r"name 'F' is not defined": (
        "F.softmax(x, *a, **k) => softmax(x)",
        "F.gelu(x, **k) => gelu(x)",
        "F.dropout(x, *a, **k) => x",
        "F.linear(x, w) => x @ w.T",
        "F.one_hot(x, n) => np.eye(n)[x]",
        "F.one_hot(x, num_classes=n) => np.eye(n)[x]",
    ),
    rf"name '({FUNCTIONS})' is not defined": ("{0}(*a, **k) => np.{0}(*a, **k)",),
    r"only (length-1|0-dimensional) arrays can be converted": (
        "math.sqrt(x) => np.sqrt(x)",
        "math.exp(x) => np.exp(x)",
        "math.tanh(x) => np.tanh(x)",
    ),
    r"no attribute 'chunk'": (
        "np.chunk(x, n, dim=d) => np.split(x, n, axis=d)",
        "x.chunk(n, dim=d) => np.split(x, n, axis=d)",
    ),
    r"no attribute 'swapdims'": ("x.swapdims(*a) => x.swapaxes(*a)",),
    r"order must be str": ("x.flatten(-2) => x.reshape(*x.shape[:-2], -1)", "x.flatten(1) => x.reshape(len(x), -1)"),
    r"mismatch in its core dimension": (
        "x.T @ y => np.swapaxes(x, -2, -1) @ y",
        "x @ y.T => x @ np.swapaxes(y, -2, -1)",
    ),
    r"no attribute 't'": ("x.t() => np.ascontiguousarray(x.T)",),
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
        "x *= y => x = x * y",
        "x /= y => x = x / y",
        "x += y => x = x + y",
        "x -= y => x = x - y",
        "x[m] = v => x = np.where(m, v, x)",
    ),
}
