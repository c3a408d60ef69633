"""Step 01, the configuration: what is claimed, and the mistakes that can be named. No MAX is needed."""

import dataclasses

from checker.claims import about, error_of, is_value, require

# As published in the config.json of the four checkpoints.
DEFAULTS = dict(
    vocab_size=50257, n_positions=1024, n_embd=768, n_layer=12, n_head=12, n_inner=None, layer_norm_epsilon=1e-5
)
PUBLISHED = {
    "gpt2": (768, 12, 12),
    "gpt2-medium": (1024, 24, 16),
    "gpt2-large": (1280, 36, 20),
    "gpt2-xl": (1600, 48, 25),
}


@about("GPT2Config")
def test_defaults(step):
    """The fields and their defaults are GPT-2 small's."""
    is_value("the list of fields", [field.name for field in dataclasses.fields(step.GPT2Config)], list(DEFAULTS))
    for field in dataclasses.fields(step.GPT2Config):
        is_value(f"the default of {field.name}", field.default, DEFAULTS[field.name])


@about("__post_init__")
def test_inner_width(step):
    """n_inner is 4 * n_embd where it is None, and what it is where it is given."""
    is_value("n_inner of GPT2Config()", step.GPT2Config().n_inner, 3072)
    is_value("n_inner for n_embd=20, n_head=5", step.GPT2Config(n_embd=20, n_head=5).n_inner, 80)
    is_value("n_inner given as 22", step.GPT2Config(n_embd=15, n_head=3, n_inner=22).n_inner, 22)


@about("__post_init__")
def test_uneven_heads_are_refused(step):
    """Heads that cannot share the width evenly are a ValueError that names both numbers."""
    for n_embd, n_head in ((768, 7), (12, 24), (20, 3)):
        call = f"GPT2Config(n_embd={n_embd}, n_head={n_head})"
        message = error_of(call, lambda: step.GPT2Config(n_embd=n_embd, n_head=n_head))  # noqa: B023 - called at once
        for number in (n_embd, n_head):
            require(str(number) in message, f"The message of {call} is {message!r}, and must name {number}.")


@about("head_dim")
def test_head_dim(step):
    """head_dim is the whole number n_embd / n_head."""
    for n_embd, n_head, n_layer in ((768, 12, 12), (15, 3, 4), (1600, 25, 48)):
        config = object.__new__(step.GPT2Config)  # __post_init__ may still be to write
        config.n_embd, config.n_head, config.n_layer = n_embd, n_head, n_layer
        is_value(f"head_dim for n_embd={n_embd}, n_head={n_head}", config.head_dim, n_embd // n_head)


@about("published")
def test_published_sizes(step):
    """The four published sizes have their width, depth and heads; every head is 64 wide."""
    found, wrong = {}, []
    for name, (n_embd, n_layer, n_head) in PUBLISHED.items():
        try:
            config = step.GPT2Config.published(name)
        except ValueError as error:
            found[name] = str(error)
            wrong.append(f"published({name!r}) raises ValueError: {error}.")
            continue
        require(isinstance(config, step.GPT2Config), f"published({name!r}) is {config!r}, and must be a GPT2Config.")
        sizes = {"n_embd": n_embd, "n_layer": n_layer, "n_head": n_head, "n_inner": 4 * n_embd}
        found[name] = dataclasses.asdict(config)
        for field, value in (DEFAULTS | sizes).items():
            if found[name][field] != value:
                wrong.append(f"{field} of published({name!r}) is {found[name][field]!r}, and must be {value!r}.")
    require(not wrong, " ".join(wrong[:2]), observed=found)


@about("published")
def test_unknown_names_are_refused(step):
    """Another name is a ValueError that says which four there are."""
    for name in ("gpt3", "medium", ""):
        message = error_of(f"published({name!r})", lambda: step.GPT2Config.published(name))  # noqa: B023 - called at once
        for known in PUBLISHED:
            require(known in message, f"The message of published({name!r}) is {message!r}, and must name {known}.")


MESSAGE = 'f"n_embd = {self.n_embd} cannot be shared evenly by n_head = {self.n_head} heads"'
SIZES = """\
            "gpt2": (768, 12, 12),
            "gpt2-medium": (1024, 24, 16),
            "gpt2-large": (1280, 36, 20),
            "gpt2-xl": (1600, 48, 25),
"""
UNKNOWN = """\
        if name not in sizes:
            raise ValueError(f"no GPT-2 is called {name!r}; there are {', '.join(sizes)}")
"""

MISTAKES = {
    "n_inner stays None: nothing completes it to 4 * n_embd.": {"self.n_inner = 4 * self.n_embd": "pass"},
    "n_inner is always 3072, which is 4 * 768; it must follow n_embd.": {"4 * self.n_embd\n": "3072\n"},
    "n_inner is completed even where it is given: ask for None first.": {"if self.n_inner is None:": "if True:"},
    "A width that the heads cannot share is accepted: test the remainder of n_embd / n_head.": {
        "if self.n_embd % self.n_head:": "if False:"
    },
    "The remainder is taken the wrong way round: it is n_embd % n_head.": {
        "if self.n_embd % self.n_head:": "if self.n_head % self.n_embd:"
    },
    "Uneven heads are an AssertionError; raise ValueError, since `python -O` skips assertions.": {
        f"raise ValueError({MESSAGE})": f"raise AssertionError({MESSAGE})"
    },
    "The message about uneven heads does not say which numbers were given.": {MESSAGE: '"n_head must divide n_embd"'},
    "head_dim is a float; use whole-number division, //.": {"self.n_embd // self.n_head": "self.n_embd / self.n_head"},
    "head_dim is always 64; it must follow n_embd and n_head.": {"return self.n_embd // self.n_head": "return 64"},
    "head_dim divides by the number of layers; it is the number of heads that shares the width.": {
        "self.n_embd // self.n_head": "self.n_embd // self.n_layer"
    },
    "Width, depth and heads come in another order: layers and heads are swapped.": {
        "n_embd, n_layer, n_head = sizes[name]": "n_embd, n_head, n_layer = sizes[name]"
    },
    "Every size has 12 heads; medium has 16, large 20 and xl 25.": {
        "n_layer=n_layer, n_head=n_head": "n_layer=n_layer"
    },
    "Medium, large and xl have 24, 36 and 25 heads, an error that is often copied; they have 16, 20 and 25.": {
        "(1024, 24, 16)": "(1024, 24, 24)",
        "(1280, 36, 20)": "(1280, 36, 36)",
    },
    "Every size has the width 768; medium has 1024, large 1280 and xl 1600.": {"cls(n_embd=n_embd, ": "cls("},
    "n_inner is 3072 for every published size; leave it None, so that it follows the width.": {
        "return cls(n_embd=n_embd": "return cls(n_inner=3072, n_embd=n_embd"
    },
    "An unknown name is a KeyError; raise a ValueError that lists the four names.": {UNKNOWN: ""},
    "An unknown name gets GPT-2 small; raise a ValueError that lists the four names.": {
        UNKNOWN: "        name = name if name in sizes else 'gpt2'\n"
    },
}

ALTERNATIVES = {
    "asked the other way round": {
        "if self.n_embd % self.n_head:": "if self.n_embd != self.n_head * (self.n_embd // self.n_head):"
    },
    "int of a quotient": {"self.n_embd // self.n_head": "int(self.n_embd / self.n_head)"},
    "a KeyError turned into a ValueError": {
        UNKNOWN: "",
        "        n_embd, n_layer, n_head = sizes[name]\n": "        try:\n            n_embd, n_layer, n_head = sizes[name]\n"
        "        except KeyError:\n            raise ValueError(f'{name!r} is not one of {list(sizes)}') from None\n",
    },
    "dictionaries of fields": {
        SIZES: SIZES.replace("(768, 12, 12)", "dict()")
        .replace("(1024, 24, 16)", "dict(n_embd=1024, n_layer=24, n_head=16)")
        .replace("(1280, 36, 20)", "dict(n_embd=1280, n_layer=36, n_head=20)")
        .replace("(1600, 48, 25)", "dict(n_embd=1600, n_layer=48, n_head=25)"),
        "        n_embd, n_layer, n_head = sizes[name]\n": "",
        "cls(n_embd=n_embd, n_layer=n_layer, n_head=n_head)": "cls(**sizes[name])",
    },
}
