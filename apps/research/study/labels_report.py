"""Makes the tables and the picture of the group labels."""
import statistics

from linearise.charts import line_chart
from study.markdown import standard_error, table

HEAD = """## With labels

The accuracy of a model file is measured with `linformer classify --eval`. The tables show its mean ± standard error
over the seeds of training, and the number of seeds if some are missing. Each seed has its own fine-tuned Transformer.
With `after`, the Linformer begins with the weights of this Transformer. With `at-once`, it begins with the weights from
before fine-tuning. Both are trained with labels, the Transformer's answers and its hidden states. A difference is the
mean difference between runs of the same seed.
"""


def mean(values):
    return statistics.mean(values) if values else None


def over_seeds(results, references):
    """Returns the means over the seeds for one row. Both lists have a result or None for each seed.

    `sampling` is the standard error of one accuracy that follows from the number of texts, as a mean over the seeds.
    `difference` is the mean difference from the reference's accuracy, over the seeds that have both.
    """
    found = [one for one in results if one is not None]
    values = [one["measured"]["accuracy"] for one in found]
    pairs = [one["measured"]["accuracy"] - other["measured"]["accuracy"] for one, other in zip(results, references)
             if one is not None and other is not None]
    first = found[0]["measured"] if found else {}
    seconds = mean([one["seconds"] for one in found])
    return {"seeds": len(found), "of": len(results), "accuracy": mean(values), "error": standard_error(values),
            "texts": first.get("texts"), "beyond_65": first.get("beyond_65"),
            "sampling": mean([one["measured"]["error"] for one in found]), "difference": mean(pairs),
            "difference_error": standard_error(pairs), "minutes": None if seconds is None else seconds / 60}


def number(value, digits=0):
    return "-" if value is None else f"{value:,.{digits}f}"


def accuracy(row):
    if row["accuracy"] is None:
        return "-"
    missing = f" ({row['seeds']} of {row['of']})" if row["seeds"] < row["of"] else ""
    error = "" if row["error"] is None else f" ± {row['error']:.4f}"
    return f"{row['accuracy']:.4f}{error}{missing}"


def difference(row):
    if row["difference"] is None:
        return "-"
    error = "" if row["difference_error"] is None else f" ± {row['difference_error']:.4f}"
    return f"{row['difference']:+.4f}{error}"


def tasks(model, rows, columns):
    """Returns the tables of the accuracies and of the differences. `columns` are pairs of a plan and a mode."""
    by_key = {(row["task"], row["plan"], row["mode"]): row for row in rows}
    names = [f"`{plan}` {mode}" for plan, mode in columns]
    found, differences = [], []
    for task in dict.fromkeys(row["task"] for row in rows):
        teacher = by_key[task, "full", None]
        students = [by_key[task, plan, mode] for plan, mode in columns]
        found.append([task, number(teacher["texts"]), number(teacher["beyond_65"]), number(teacher["sampling"], 4),
                      accuracy(teacher), *map(accuracy, students)])
        differences.append([task, *map(difference, students)])
    return (f"### {model}\n\n" +
            table(["task", "texts", "beyond 65 tokens", "sampling error", "Transformer", *names], found) +
            "\nThe sampling error is the standard error of one accuracy that follows from the number of texts. In a "
            "text of at most 65 tokens, each row of `w64k64` attends to all others, as in the Transformer itself. Only "
            "the texts beyond 65 tokens therefore test this plan.\n\nDifference from the Transformer:\n\n" +
            table(["task", *names], differences))


def reviews(model, rows):
    """Returns the table of the long reviews."""
    lines = [[row["name"], number(row["texts"]), number(row["cut"]), number(row["windows"], 1), accuracy(row),
              difference(row), number(row["ms"], 1), number(row["full_ms"], 1)] for row in rows]
    return (f"### {model}, long reviews\n\nThe texts are reviews of IMDB with more than 600 words. `cut` is the number "
            "of texts whose end is not read. The difference is measured from the Transformer on windows. The time is "
            "measured with `linformer bench` for the median review, or for one window and multiplied by the mean "
            "number of windows. The last column is the time of a Transformer that reads the median review at once. The "
            "times depend on the machine.\n\n" +
            table(["how it is read", "texts", "cut", "windows", "accuracy", "difference", "ms a text",
                   "ms with full attention"], lines))


def picture(model, rows):
    """Returns an SVG of accuracy by time, or an empty text if fewer than two rows have results."""
    series = [(row["name"].replace("`", ""), [(row["ms"], row["accuracy"], row["error"] or 0.0)])
              for row in rows if row["ms"] is not None and row["accuracy"] is not None]
    if len(series) < 2:
        return ""
    return line_chart(f"Long reviews, {model}", "ms a text", "accuracy", series, log_x=True)
