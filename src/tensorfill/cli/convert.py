"""``tensorfill convert``: a tensor from one format into another."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from .command import Command
from .options import add_reading, check_output, read_given
from .talk import share, show_facts, sizes


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", type=Path, metavar="IN", help="the file to read")
    parser.add_argument("output", type=Path, metavar="OUT", help="the file to write; its ending says the format")
    parser.add_argument("--output-format", metavar="NAME", help="the format of OUT, where the ending does not say")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors and warnings")
    add_reading(parser)


def _run(given: argparse.Namespace) -> int:
    from ..io.formats import format_of, write

    check_output(given.output, "OUT")
    format_of(given.output, given.output_format)
    data = read_given(given, given.input)
    seen = data.observations
    content: Any = data
    alike = format_of(given.output, given.output_format) == format_of(given.input, given.format)
    # With nothing missing it can be given back as what it was, units and all, which its own format can hold.
    if data.restore is not None and seen.density == 1 and alike:
        content = data.restore(seen.to_dense())
    write(given.output, content, labels=data.labels, format=given.output_format)
    if not given.quiet:
        show_facts(
            [
                ("data", f"{sizes(seen.shape)}, {len(seen):,} entries observed ({share(seen.density)})"),
                ("written", str(given.output)),
            ]
        )
    return 0


COMMAND = Command(
    "write a tensor in another format",
    _options,
    _run,
    usage="IN OUT",
    details="""
    Labels go with it where OUT can hold them: .npz, .nc, .csv, .tsv and .parquet. Missing entries are NaN in a file
    that holds every entry, and left out of one that lists entries.
    """,
    examples=(
        "tensorfill convert flights.tns flights.parquet",
        "tensorfill convert parking.mat parking.csv --missing zero",
        "tensorfill convert facts.txt facts.npz --format triples",
    ),
)
"""The subcommand."""
