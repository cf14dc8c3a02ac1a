"""Tables in Markdown."""
import statistics


def table(head, rows):
    """Returns a table; the first column is text, the others are numbers."""
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def standard_error(values):
    """Returns the standard error of the mean, or None of fewer than two values."""
    return statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else None
