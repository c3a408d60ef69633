"""Every no gets a reason of its own, whatever is wrong beside it."""

import re

import pytest

from checker.course.attempts import edited, load_attempts
from checker.course.steps import find_step
from checker.diagnosis.explanation import Diagnosis
from checker.diagnosis.mistakes import Outcome

pytestmark = pytest.mark.slow

SOURCE_FORM = """\
import numpy as np


def softmax(x):
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def generate_next_token(model, input_ids, temperature=1.0, do_sample=True, *, top_k=None, rng=None):
    rng = rng or np.random.default_rng()
    logits = model(input_ids)[:, 0]
    if not do_sample or temperature == 0:
        return logits.argmax(axis=-1)
    return np.array([rng.choice(len(row), p=row) for row in softmax(logits)])


def generate_tokens(
    model, input_ids, max_new_tokens=10, temperature=1.0, do_sample=True, *, top_k=None, rng=None, n_positions=1024
):
    for _ in range(max_new_tokens):
        next_ids = generate_next_token(model, input_ids, temperature, do_sample)
        input_ids = np.concatenate([input_ids, next_ids[:, None]], axis=1)
    return input_ids
"""

FOUR_FUNCTIONS = """
def read_checkpoint(folder: Path) -> Weights:
    index = folder / "model.safetensors.index.json"
    names = set(json.loads(index.read_text())["weight_map"].values()) if index.is_file() else {"model.safetensors"}
    tensors: Weights = {}
    for name in sorted(names):
        try:
            tensors |= load_file(folder / name)
        except (OSError, SafetensorError) as error:
            raise ValueError(f"{folder / name} is missing, cut short or damaged: {error}") from error
    return {name: tensor.astype(np.float32) for name, tensor in tensors.items()}


def convert_checkpoint(tensors: Mapping[str, np.ndarray]) -> Weights:
    weights: Weights = {}
    for name, tensor in tensors.items():
        if name.endswith(MASK_BUFFERS):
            continue
        if not name.startswith(("transformer.", "lm_head.")):
            name = f"transformer.{name}"
        weights[name] = np.ascontiguousarray(tensor.T) if name.endswith(CONV1D) else tensor
    if "transformer.wte.weight" in weights:
        weights.setdefault("lm_head.weight", weights["transformer.wte.weight"])
    return weights


def check_weights(weights: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[int, ...]]) -> None:
    missing = [f"{name} is missing" for name in shapes if name not in weights]
    unknown = [f"{name} is unknown" for name in weights if name not in shapes]
    both = [name for name in shapes if name in weights]
    other = [f"{name} is {weights[name].shape}" for name in both if weights[name].shape != shapes[name]]
    if problems := missing + unknown + other:
        raise ValueError("; ".join(problems))


"""
PARTS = ("checkpoint_files", "read_tensors", "name_in_model", "tensor_in_model", "tie_head", "wrong_shapes")


def rows(printed: str) -> set[tuple[str, ...]]:
    """The verdicts by function, as they were printed."""
    return {tuple(line.split()[:2]) for line in printed.splitlines() if re.match(r"  (pass|fail|waits) ", line)}


def said(run) -> str:
    """What was printed, in one line."""
    return " ".join(run.stdout.split())


def test_what_only_follows_from_another_function_waits_for_it(course):
    course.write("w01", edits={"return query @ np.swapaxes(key, -2, -1)": "return -(query @ np.swapaxes(key, -2, -1))"})
    run = course.check("w01")
    assert ("fail", "attention_scores") in rows(run.stdout)
    assert ("fail", "simple_self_attention") not in rows(run.stdout)
    assert "waits until attention_scores works" in said(run)


def test_what_follows_waits_for_what_it_calls_and_not_for_all_that_is_wrong(course):
    nearest = {"return min(counts, key=lambda pair: (-counts[pair], pair), default=None)": "return max(counts)"}
    last_first = {"first = min(known, key=lambda pair": "first = max(known, key=lambda pair"}
    course.write("w06", edits=nearest | last_first)
    run = course.check("w06")
    assert {("fail", "most_frequent"), ("fail", "encode_word")} <= rows(run.stdout)
    waiting = re.findall(r"^  waits +(\w+) +(.+)$", run.stdout, re.MULTILINE)
    assert {*waiting} == {("learn", "waits until most_frequent works"), ("encode", "waits until encode_word works")}


def test_two_wrong_functions_are_both_explained_and_the_first_is_said(course):
    step = find_step("w01")
    mistakes = load_attempts(step).mistakes
    chosen = [next(name for name in mistakes if word in name) for word in ("softmax", "transposed")]
    source = step.solution_file.read_text()
    for name in chosen:
        source = edited(source, mistakes[name])
    course.write("w01", source)
    run = course.check("w01")
    assert all(name in said(run) for name in chosen)
    assert re.search(r"(\w+) and (\w+) are each wrong\. Begin with \1\.", said(run))


def test_a_name_that_only_the_learners_functions_share_is_no_mistake(course):
    """Judged beside the solution's ``__init__``, ``forward`` would lack what the learner's ``__init__`` sets."""
    course.write(
        "s07",
        edits={
            "self.c_proj = Linear(self.embed_dim, self.embed_dim)": "self.c_proj = Linear(self.embed_dim, "
            "self.embed_dim, bias=False)\n        self.blocks = 3",
            "[self.split_size] * 3": "[self.split_size] * self.blocks",
        },
    )
    run = course.check("s07", "--no-compile")
    assert "c_proj has no bias; GPT-2's projections do." in said(run)
    assert "no attribute 'blocks'" not in said(run)
    assert ("fail", "forward") not in rows(run.stdout)


def test_an_error_of_ones_own_does_not_wait_for_the_functions_before(course):
    course.write(
        "s07",
        edits={
            "self.c_proj = Linear(self.embed_dim, self.embed_dim)": "self.c_proj = Linear(self.embed_dim, "
            "self.embed_dim, bias=False)",
            "[self.split_size] * 3, axis=-1": "[self.split_size] * 3, dim=-1",
        },
    )
    run = course.check("s07", "--no-compile")
    assert "__init__: c_proj has no bias; GPT-2's projections do." in said(run)
    assert "unexpected keyword argument 'dim'. MAX's word for it is axis." in said(run)
    assert ("fail", "forward") in rows(run.stdout)


def test_a_mistake_in_a_function_whose_own_claims_hold_is_found_there(course):
    course.write(
        "s07",
        edits={
            "self.num_heads = config.n_head": "self.num_heads = 12",
            "return weights @ value": "return weights @ key",
        },
    )
    run = course.check("s07", "--no-compile")
    assert "_attn: The weights are multiplied with the keys" in said(run)
    assert "__init__: 12 heads are written into the code" in said(run)


def test_functions_that_are_right_alone_and_not_together(course):
    """One leaves a trace that another stumbles over; the solution's functions neither leave it nor mind it."""
    course.write(
        "w01",
        edits={
            "import numpy as np\n": "import numpy as np\n\nTRACE = []\n",
            "    largest = ": "    scores = scores + len(TRACE) * np.arange(scores.shape[-1])\n    largest = ",
            "    weights = softmax": "    TRACE.append(1)\n    weights = softmax",
        },
    )
    run = course.check("w01")
    assert run.returncode == 1
    assert "simple_self_attention: Each function is right alone, but together they are not." in said(run)


def test_a_file_in_the_source_tutorials_form_is_told_what_is_missing_and_what_is_wrong(course):
    course.write("s12", SOURCE_FORM)
    run = course.check("s12")
    assert run.returncode == 1
    for missing in ("check_settings", "next_token_probabilities", "stream_tokens"):
        assert run.stdout.count(f"there is no {missing} in the file") == 1
    assert "has no attribute" not in run.stdout
    assert {("fail", "generate_next_token"), ("fail", "generate_tokens")} <= rows(run.stdout)
    assert said(run).count("generate_next_token: ") >= 1
    assert "generate_tokens of an empty prompt is accepted, and must raise ValueError." in said(run)


def four_functions(course, edits: dict[str, str]) -> str:
    """What a check says of step 13 in four long functions, which is how its skeleton was once cut."""
    solution = find_step("s13").solution_file.read_text()
    begin, end = solution.index("def checkpoint_files"), solution.index("def load_pretrained")
    course.write("s13", solution[:begin].rstrip() + "\n\n" + edited(FOUR_FUNCTIONS, edits) + solution[end:])
    run = course.check("s13", "--no-compile")
    assert run.returncode == 1
    for part in PARTS:
        assert run.stdout.count(f"there is no {part} in the file") == 1
        assert f"  todo      {part} " in run.stdout
    assert "has no attribute" not in run.stdout
    assert "together they are not" not in run.stdout
    return run.stdout


def test_a_file_with_fewer_functions_is_right_so_far(course):
    printed = four_functions(course, {})
    kinds = {label: {kind for kind, about in rows(printed) if about == label} for _, label in rows(printed)}
    rest = ("read_config", "read_checkpoint", "convert_checkpoint", "check_weights", "load_pretrained")
    assert kinds == {label: {"pass"} for label in rest}
    assert f"Right so far. Still to write: {', '.join(PARTS)}." in " ".join(printed.split())


@pytest.mark.parametrize(
    ("label", "edits", "sentence"),
    [
        (
            "convert_checkpoint",
            {"name.endswith(CONV1D)": "name.endswith(CONV1D) and tensor.shape[0] != tensor.shape[1]"},
            "a transpose is missing or too many",
        ),
        ("check_weights", {"missing + unknown + other": "missing + other"}, "Unknown weights are not noticed."),
        ("read_checkpoint", {"sorted(names)": "sorted(names)[:1]"}, "Only the first of several files is read."),
        ("read_checkpoint", {"OSError, SafetensorError": "OSError,"}, "raises SafetensorError, and must raise"),
    ],
)
def test_a_file_with_fewer_functions_is_told_what_is_wrong(course, label, edits, sentence):
    printed = four_functions(course, edits)
    assert ("fail", label) in rows(printed)
    assert {about for kind, about in rows(printed) if kind == "fail"} == {label}
    assert f"{label}: " in printed
    assert sentence in " ".join(printed.split())


def test_what_calls_a_function_that_is_gone_waits_for_it(course):
    source = find_step("w01").solution_file.read_text()
    begin, end = source.index("def attention_scores"), source.index("def softmax")
    course.write("w01", source[:begin] + source[end:])
    run = course.check("w01")
    assert run.returncode == 1
    assert run.stdout.count("there is no attention_scores in the file") == 1
    assert "waits until attention_scores is written" in said(run)
    assert "NameError" not in run.stdout
    assert "fail" not in {kind for kind, _ in rows(run.stdout)}
    assert "Right so far. Still to write: attention_scores." in said(run)


def test_what_is_printed_is_printed_once(course):
    source = find_step("w01").solution_file.read_text().replace("return query @", "return -query @")
    course.write("w01", f"{source}\nprint('once')\n")
    run = course.check("w01")
    assert run.returncode == 1
    assert run.stdout.count("| once") == 1


@pytest.mark.parametrize(
    ("beside", "tried"),
    [("", []), ("UNUSED = 1\n", ["simple_self_attention"])],
)
def test_what_would_be_the_solution_itself_is_not_run(beside, tried):
    """With attention_scores mended the file is the solution, and simple_self_attention waits for it."""
    step = find_step("w01")
    source = edited(step.solution_file.read_text(), {"return query @": "return -query @"}) + beside
    said = {
        "one": Outcome("fail", observed="a number no mistake gives", about="attention_scores"),
        "two": Outcome("fail", observed="another", about="simple_self_attention"),
    }
    asked: list[str] = []

    def try_(codes, claims):
        asked.extend(codes)
        return {label: {claim: Outcome("pass") for claim in claims[label]} for label in codes}

    explained = {one.claim: one.verdict for one in Diagnosis(step, try_).explain(said, source, "warmup_01.py")}
    assert explained == {"one": "fail", "two": "waits"}
    assert [label for label in asked if label != "attention_scores"] == tried
