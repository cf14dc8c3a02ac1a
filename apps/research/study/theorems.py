"""Compares the k of Theorems 1 and 2 with the k that is needed to keep a relative error of P V. `linformer spectrum
--error` computes both."""
import json

from linearise import encoder, programs
from study import corpora
from study.runs import Run

GROUP = "theorems"
ERRORS = (0.5, 0.3, 0.1)
LENGTHS = "64,128,256,512"
# The names in the results, and the titles of the table's columns.
COLUMNS = {"theorem_1": "theorem 1", "columns_within": "columns within E", "theorem_2": "theorem 2",
           "rows_within": "rows within E", "projected_half": "projected, half", "projected_all": "projected, all",
           "expected_half": "expected, half", "singular_half": "singular, half", "singular_all": "singular, all"}


def runs():
    made = [Run(GROUP, f"minilm-{round(100 * error)}", settings(error, 8, LENGTHS), compute) for error in ERRORS]
    return made + [Run(GROUP, "minilm-small", settings(0.5, 2, "64,128"), compute)]


def settings(error, count, lengths):
    return {"model": "minilm", "error": error, "texts": count, "lengths": lengths, "draws": 5, "seed": 0}


def compute(chosen, context):
    """Measures the k with the longest held-out texts."""
    work = context.work / "theorems"
    work.mkdir(parents=True, exist_ok=True)
    # The folder may limit texts to fewer tokens than its table has positions.
    length = max(map(int, chosen["lengths"].split(",")))
    encoder.load(context.models[chosen["model"]]).save(work / "model", length)
    programs.convert(work / "model", work / "model.lnfr")
    _, held = corpora.mixed_texts(context.data)
    longest = sorted(held.texts, key=lambda words: -len(words[0]))[:chosen["texts"]]
    (work / "texts.txt").write_text("".join(" ".join(words[0].split()) + "\n" for words in longest), encoding="utf-8")
    made = json.loads(programs.run(
        "linformer", "spectrum", work / "model.lnfr", "-i", work / "texts.txt", "--error", chosen["error"], "--draws",
        chosen["draws"], "--seed", chosen["seed"], "--max-tokens", chosen["lengths"], "--json", "--quiet"))
    return {"lengths": [summary(line) for line in made["lengths"]]}


def summary(line):
    """Returns the numbers over all heads at one length. If even k = n isn't enough, a k is None."""
    return {"n": line["n"], "theorem_1": line["theorem_1"]["k"], "columns_within": line["theorem_1"]["columns_within"],
            "theorem_2": line["theorem_2"]["k"], "rows_within": line["theorem_2"]["rows_within"],
            "projected_half": line["projected"]["half"], "projected_all": line["projected"]["all"],
            "expected_half": line["expected"]["half"], "singular_half": line["singular"]["half"],
            "singular_all": line["singular"]["all"]}
