"""Units of work: some rows of one Parquet file, which become one Parquet file."""
from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass

from .sources import Source


@dataclass(frozen=True)
class Unit:
    """The rows ``first_row`` to ``first_row + rows`` of a file."""
    source: Source
    first_row: int
    rows: int

    @property
    def name(self) -> str:
        """The name of the file with the unit's results, which is the same in every run."""
        key = hashlib.blake2b(f"{self.source.path}\0{self.source.size}\0{self.first_row}\0{self.rows}".encode(),
                              digest_size=8)
        stem = os.path.basename(self.source.path).removesuffix(".parquet").lstrip("_.")  # readers leave out _ and .
        stem = stem.encode()[:100].decode(errors="ignore")  # file systems limit a name to 255 bytes
        return f"{stem}-{self.first_row:010d}-{key.hexdigest()}.parquet"


def divided(source, count, unit_rows):
    """The units of a file with ``count`` rows. Their sizes differ by at most one row, and none is above ``unit_rows``.
    """
    parts = -(-count // unit_rows)
    bounds = [count * part // parts for part in range(parts + 1)] if parts else []
    return [Unit(source, begin, end - begin) for begin, end in zip(bounds, bounds[1:])]
