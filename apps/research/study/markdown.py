"""Writes tables in Markdown."""
import statistics


def table(head, rows):
    """Returns a table whose first column has texts (left-aligned) and whose other columns have numbers."""
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def standard_error(values):
    """Returns the standard error of the mean, or None if there are fewer than two values."""
    return statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else None
