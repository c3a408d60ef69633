"""Leave out each part of the model in turn, and print what that costs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from checker.course.steps import MODEL
from checker.files import require_writable, write_durably
from play.mine.choice import OwnSteps
from play.startup import Tell, ready_to_run

if TYPE_CHECKING:  # at run time only once it is decided whose modules it imports
    from play.ablation.switches import Switches

DIGITS = 6  # of the figures in the file


def print_ablations(
    tell: Tell,
    *,
    stride: int,
    out: Path | None,
    model: str | Path,
    own: OwnSteps | None,
) -> None:
    """Print three tables, each row as soon as it is measured; write the figures as JSON if a path is given.

    Raises:
        OSError: the file cannot be written.
        ValueError: the checkpoint cannot be read, or the stride is impossible; or the learner's steps cannot run: see
            :func:`play.startup.ready_to_run`.
    """
    require_writable(out)
    with ready_to_run(tell, [MODEL], own):
        from play.ablation.measuring import Measure
        from play.ablation.switches import ATTENTION, FEED_FORWARD, left_out, without_head, without_layer

        measure = Measure(model, stride)
    on, config, bits_per_byte = measure.all_on, measure.config, measure.bits_per_byte
    nothing = bits_per_byte(on)
    print(f"{nothing:.3f} bits per byte of {measure.text.bytes:,} bytes that the model was not trained on\n")
    parts = print_parts(left_out(on, config), bits_per_byte, nothing)
    print("\nmore bits per byte without a layer, or a part of it")
    sublayers = {"all of it": (ATTENTION, FEED_FORWARD), "attention": (ATTENTION,), "feed-forward": (FEED_FORWARD,)}
    without_layers = (
        [bits_per_byte(without_layer(on, layer, *which)) for which in sublayers.values()]
        for layer in range(config.n_layer)
    )
    layers = print_rows(without_layers, list(sublayers), nothing)
    print("\nmore bits per byte without a head")
    without_heads = (
        [bits_per_byte(without_head(on, layer, head)) for head in range(config.n_head)]
        for layer in range(config.n_layer)
    )
    heads = print_rows(without_heads, range(config.n_head), nothing)
    if out:
        text = {"bytes": measure.text.bytes, "tokens": measure.text.tokens, "stride": stride}
        measured = {"nothing": round(nothing, DIGITS), "parts": parts, "layers": layers, "heads": heads}
        write_durably(out, json.dumps(text | measured, indent=2).encode() + b"\n")
        tell(f"{out.absolute()} written")


def print_parts(
    parts: Mapping[str, Switches], bits_per_byte: Callable[[Switches], float], nothing: float
) -> dict[str, float]:
    """Print a row for each part, measured with switches that lack it; return the bits per byte of each."""
    print(f"{'left out':32} bits per byte    more")
    measured = {}
    for name, switches in parts.items():
        bits = bits_per_byte(switches)
        print(f"{name:32} {bits:13.3f} {more(bits, nothing):+7.3f}", flush=True)
        measured[name] = round(bits, DIGITS)
    return measured


def print_rows(rows: Iterable[list[float]], columns: Sequence[object], nothing: float) -> list[list[float]]:
    """Print a row for each layer, as differences from ``nothing`` left out; return the rows."""
    widths = [max(8, len(str(column)) + 2) for column in columns]
    print("layer" + "".join(f"{column!s:>{width}}" for column, width in zip(columns, widths, strict=True)))
    measured = []
    for layer, row in enumerate(rows):
        cells = (f"{more(bits, nothing):+{width}.3f}" for bits, width in zip(row, widths, strict=True))
        print(f"{layer:<5}" + "".join(cells), flush=True)
        measured.append([round(bits, DIGITS) for bits in row])
    return measured


def more(bits: float, nothing: float) -> float:
    """Return the difference to three digits, without a negative zero."""
    return round(bits - nothing, 3) + 0.0
