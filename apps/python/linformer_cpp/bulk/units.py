"""Defines units of work. A unit is a range of rows of a Parquet file, and its results become one Parquet file."""
from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass

from .sources import Source


@dataclass(frozen=True)
class Unit:
    """The rows from ``first_row`` to ``first_row + rows`` (exclusive) of a file."""
    source: Source
    first_row: int
    rows: int

    @property
    def name(self) -> str:
        """The name of the file with the unit's results, which is the same in every run."""
        key = hashlib.blake2b(f"{self.source.path}\0{self.source.size}\0{self.first_row}\0{self.rows}".encode(),
                              digest_size=8)
        # Readers skip files whose names begin with _ or a dot. File systems limit a name to 255 bytes.
        stem = os.path.basename(self.source.path).removesuffix(".parquet").lstrip("_.")
        stem = stem.encode()[:100].decode(errors="ignore")
        return f"{stem}-{self.first_row:010d}-{key.hexdigest()}.parquet"


def divided(source, count, unit_rows):
    """Returns the units of a file with ``count`` rows. A unit has at most ``unit_rows`` rows, and the sizes of the
    units differ by at most one row."""
    parts = -(-count // unit_rows)
    bounds = [count * part // parts for part in range(parts + 1)] if parts else []
    return [Unit(source, begin, end - begin) for begin, end in zip(bounds, bounds[1:])]
