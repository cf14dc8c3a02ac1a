"""Measures the share of labelled texts that a model file classifies correctly."""
import json
import math

import torch

from linearise import programs


def spread_out(count, most):
    """Returns at most `most` of the numbers from 0 to `count` - 1, evenly spread."""
    return range(count) if count <= most else [i * count // most for i in range(most)]


def accuracy(file, tested, work, *options):
    """Returns the share of the Texts that `linformer classify` gives their own label. Its input is written to the
    folder `work`."""
    records = work / "test.jsonl"
    fields = ("text", "pair")[:len(tested.texts[0])]
    with open(records, "w", encoding="utf-8") as out:
        for words, label in zip(tested.texts, tested.labels):
            out.write(json.dumps({**dict(zip(fields, words)), "label": label}) + "\n")
    pair = ["--pair", "pair"] if len(fields) == 2 else []
    made = json.loads(programs.run(
        "linformer", "classify", file, "-i", records, "--field", "text", *pair, "--eval", "label", "--threads",
        torch.get_num_threads(), "--json", "--quiet", *options))["evaluation"]
    return share(made["correct"], made["records"])


def share(correct, count):
    """Returns the share of correct texts, and the standard error that follows from the number of texts."""
    value = correct / count
    return {"texts": count, "correct": correct, "accuracy": round(value, 6),
            "error": round(math.sqrt(value * (1 - value) / count), 6)}
