"""Tests the study's command, corpora and controls on made-up data. labels_test.py and pretraining_test.py test the
other groups."""
import csv
import gzip
import json
import subprocess
import sys

import pytest

from conftest import environment, make_model, make_texts
from study import __main__ as command
from study import controls, corpora, plan, runs, tables, theorems


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with the files of the corpora, and made-up texts."""
    folder = tmp_path_factory.mktemp("data")
    for name in ("imdb", "sst2", "pairs", "mlm/gutenberg"):
        (folder / name).mkdir(parents=True)
    texts = make_texts(60, shortest=40)
    for part, first in (("train", 0), ("test", 40)):
        with gzip.open(folder / "imdb" / f"{part}.jsonl.gz", "wt") as out:
            out.writelines(json.dumps({"text": text, "label": i % 2}) + "\n" for i, text in
                           enumerate(texts[first:first + 40]))
    for name in ("train", "dev"):
        with open(folder / "sst2" / f"{name}.tsv", "w", newline="") as out:
            writer = csv.writer(out, delimiter="\t")
            writer.writerows([["sentence", "label"], ["a good film", 1], ["a bad film", 0]])
    for name in ("mrpc_train", "mrpc_test", "qnli_train_from_dev", "qnli_test_from_dev", "rte_train", "rte_dev"):
        (folder / "pairs" / f"{name}.jsonl").write_text(json.dumps({"a": "a film", "b": "the film", "label": 1}) + "\n")
    for name in ("pg1.txt", corpora.HELD_OUT_BOOK):
        (folder / "mlm" / "gutenberg" / name).write_text("\n\n".join(make_texts(9, seed=len(name), shortest=60)))
    for name in ("wikitext2_valid.tokens.txt", "wikitext2_raw_test.txt"):
        (folder / "mlm" / name).write_text("\n".join(make_texts(5, seed=2, shortest=80)))
    return folder


@pytest.fixture()
def context(data, tmp_path):
    corpora.mixed_texts.cache_clear()
    return runs.Context(data, tmp_path / "work", tmp_path / "results", {"minilm": make_model(tmp_path / "model")})


def test_corpora_are_read_and_the_held_out_book_stays_out(data):
    corpora.mixed_texts.cache_clear()
    train, held = corpora.mixed_texts(data)
    book = corpora.paragraphs(data / "mlm" / "gutenberg" / corpora.HELD_OUT_BOOK)
    assert all((part,) in held.texts for part in book)
    assert not any(part in words[0] for part in book for words in train.texts)
    assert corpora.task(data, "rte", "train").texts == [("a film", "the film")]
    assert corpora.task(data, "sst2", "test").labels == ["1", "0"]


def test_runs_have_names_of_their_own_and_the_small_ones_exist():
    names = [f"{run.group}/{run.name}" for run in plan.all_runs()]
    assert len(names) == len(set(names)) and set(plan.SMALL) <= set(names)
    assert all("/" not in run.name and "*" not in run.name and "," not in run.name for run in plan.all_runs())


def test_an_option_given_twice_adds_its_values():
    options = command.make_parser().parse_args(["--run", "a/b", "--group", "x", "--run", "a/c", "a/d", "--group", "y"])
    assert options.run == ["a/b", "a/c", "a/d"] and options.group == ["x", "y"]


def test_a_control_is_computed_once_and_to_the_digit(context, monkeypatch):
    monkeypatch.setattr(controls, "LENGTHS", (40,))
    settings = dict(controls.settings("w4k6", 1, steps=2), length=64, held_out=10, tokens=256)
    run = runs.Run("controls", "x", settings, controls.compute)
    assert not runs.is_done(run, context)
    first = runs.execute(run, context, 1)
    assert runs.is_done(run, context) and not runs.is_done(
        runs.Run("controls", "x", dict(settings, seed=2), controls.compute), context)
    assert first["measured"] == runs.execute(run, context, 1)["measured"]
    assert set(first["measured"]) == {"whole", "40"} and first["settings"]["seed"] == 1


def test_theorems_read_texts_up_to_the_positions_of_the_model(context, programs):
    """Like all-MiniLM-L6-v2, the model has a limit that is lower than its number of positions."""
    path = context.models["minilm"] / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "max_seq_length": 20}))
    made = theorems.compute(theorems.settings(0.5, 2, "16,32"), context)
    assert [line["n"] for line in made["lengths"]] == [16, 32]
    assert all(1 <= line["singular_half"] <= line["n"] for line in made["lengths"])


def test_paired_differences_by_hand(context):
    for seed in range(3):
        for name, value in (("w64k64", 0.9 + 0.01 * seed), ("w64k2", 0.8)):
            path = context.file("controls", f"{name}-seed{seed}")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"measured": {"512": {"mean": value}}}))
    difference, error, seeds = tables.paired(context, "w64k64", "w64k2", "512", "mean")
    assert (difference, error, seeds) == pytest.approx((0.11, 0.01 / 3**0.5, 3))
    assert "The compressed keys improve the student" in tables.controls_sentence(context)
    assert tables.mean_and_error([], 2) == "-" and tables.mean_and_error([1.0], 2) == "1.00"
    assert tables.mean_and_error([1.0, 2.0, 3.0], 2) == "2.00 ± 0.58"


def test_tables_of_no_results_have_dashes(context):
    tables.write(context)
    text = (context.results.parent / "RESULTS.md").read_text()
    assert "is open" in text and "| - |" in text


def test_the_command_lists_compares_and_refuses(context, data, tmp_path):
    def study(*arguments, code=0):
        done = subprocess.run([sys.executable, "-m", "study", "--results", str(context.results), *map(str, arguments)],
                              capture_output=True, text=True, env=environment(), timeout=200, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done
    assert "open  controls/w64-seed0" in study("--list").stdout
    assert "examples" in study("--help").stdout
    study(code=2)
    for wrong, words in ((["--run", "x/y"], "no run"), (["--group", "x"], "no group"), (["--small"], "needs the model"),
                         (["--model", "minilm=nothing", "--list"], "no"), (["--compare", tmp_path], "no results")):
        assert words in study(*wrong, code=1).stderr
    for folder, value in ((context.results, 1), (tmp_path / "again", 1)):
        (folder / "controls").mkdir(parents=True)
        (folder / "controls" / "w64-seed0.json").write_text(json.dumps({"settings": {}, "measured": {"a": value}}))
    assert "same: controls/w64-seed0" in study("--compare", tmp_path / "again").stdout
    (tmp_path / "again" / "controls" / "w64-seed0.json").write_text(json.dumps({"settings": {}, "measured": {"a": 2}}))
    assert "differs" in study("--compare", tmp_path / "again", code=1).stdout
