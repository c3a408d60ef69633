"""Step 01, the configuration: what is claimed. No MAX is needed."""

import dataclasses

import pytest

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
def test_defaults(subject):
    """The fields and their defaults are GPT-2 small's."""
    is_value("the list of fields", [field.name for field in dataclasses.fields(subject.GPT2Config)], list(DEFAULTS))
    for field in dataclasses.fields(subject.GPT2Config):
        is_value(f"the default of {field.name}", field.default, DEFAULTS[field.name])


@about("__post_init__")
def test_uneven_heads_are_refused(subject):
    """An n_head of 0, or one that cannot share the width evenly, raises a ValueError naming both numbers."""
    for n_embd, n_head in ((768, 7), (12, 24), (20, 3), (768, 0), (768, -12)):
        call = f"GPT2Config(n_embd={n_embd}, n_head={n_head})"
        message = error_of(call, lambda: subject.GPT2Config(n_embd=n_embd, n_head=n_head))  # noqa: B023
        for number in (n_embd, n_head):
            require(str(number) in message, f"The message of {call} is {message!r}, and must name {number}.")


def config_of(subject, **sizes):
    """A configuration of these sizes, also while __post_init__ is still to write."""
    try:
        return subject.GPT2Config(**sizes)
    except NotImplementedError:
        config = object.__new__(subject.GPT2Config)
        for name, value in (DEFAULTS | sizes).items():
            object.__setattr__(config, name, value)  # a frozen one is right as well
        return config


@about("head_dim")
def test_head_dim(subject):
    """head_dim is n_embd / n_head, as an integer."""
    for n_embd, n_head, n_layer in ((768, 12, 12), (15, 3, 4), (1600, 25, 48)):
        config = config_of(subject, n_embd=n_embd, n_head=n_head, n_layer=n_layer)
        is_value(f"head_dim for n_embd={n_embd}, n_head={n_head}", config.head_dim, n_embd // n_head)


@about("inner_dim")
def test_inner_dim(subject):
    """inner_dim is 4 * n_embd if n_inner is None, and n_inner otherwise."""
    is_value("inner_dim of GPT2Config()", config_of(subject).inner_dim, 3072)
    is_value("inner_dim for n_embd=20, n_head=5", config_of(subject, n_embd=20, n_head=5).inner_dim, 80)
    is_value("inner_dim for n_inner=22", config_of(subject, n_embd=15, n_head=3, n_inner=22).inner_dim, 22)


@about("inner_dim")
def test_another_width(subject):
    """inner_dim follows n_embd: dataclasses.replace(config, n_embd=128) makes it 512, and n_inner stays None."""
    config = subject.GPT2Config()
    is_value("n_inner of GPT2Config()", config.n_inner, None)
    is_value("inner_dim with n_embd replaced by 128", dataclasses.replace(config, n_embd=128, n_head=4).inner_dim, 512)


@about("published")
def test_published_sizes(subject):
    """Each of the four published sizes has its own width, depth and heads; every head is 64 wide."""
    configs, wrong = {}, []
    for name, (n_embd, n_layer, n_head) in PUBLISHED.items():
        try:
            config = subject.GPT2Config.published(name)
        except ValueError as error:
            configs[name] = str(error)
            wrong.append(f"published({name!r}) raises ValueError: {error}.")
            continue
        require(isinstance(config, subject.GPT2Config), f"published({name!r}) is {config!r}, and must be a GPT2Config.")
        sizes = {"n_embd": n_embd, "n_layer": n_layer, "n_head": n_head}
        configs[name] = dataclasses.asdict(config)
        for field, value in (DEFAULTS | sizes).items():
            if configs[name][field] != value:
                wrong.append(f"{field} of published({name!r}) is {configs[name][field]!r}, and must be {value!r}.")
    require(not wrong, " ".join(wrong[:2]), observed=configs)


@about("published")
def test_unknown_names_are_refused(subject):
    """Any other name raises a ValueError listing the four sizes."""
    for name in ("gpt3", "medium", ""):
        message = error_of(f"published({name!r})", lambda: subject.GPT2Config.published(name))  # noqa: B023
        for known in PUBLISHED:
            require(known in message, f"The message of published({name!r}) is {message!r}, and must name {known}.")


@pytest.mark.drawn
@about("inner_dim")
def test_other_numbers(subject, draw):
    """New random sizes work as well."""
    n_head, head_dim = draw.whole("n_head", 1, 40), draw.whole("head_dim", 1, 99)
    config = subject.GPT2Config(n_embd=n_head * head_dim, n_head=n_head)
    is_value(f"head_dim of {config}", config.head_dim, head_dim)
    is_value(f"inner_dim of {config}", config.inner_dim, 4 * n_head * head_dim)
