"""Tests the command itself, as a user runs it."""
import csv
import json
import random
import signal
import subprocess
import sys
import time

import pytest

from conftest import WORDS, environment, make_model, make_texts, write_lines
from linearise import __main__ as command

SMALL = ["--steps", "6", "--tokens", "512", "--check-every", "3", "--k", "6", "--window", "4", "--threads", "1",
         "--held-out", "12", "--quiet"]


def run(*arguments, code=0, **options):
    done = subprocess.run([sys.executable, "-m", "linearise", *map(str, arguments)], capture_output=True, text=True,
                          env=environment(), timeout=500, check=False, **options)
    assert done.returncode == code, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    return write_lines(tmp_path_factory.mktemp("texts") / "texts.jsonl", make_texts(150, shortest=10))


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    """Texts whose label says whether they have good words or bad words."""
    folder, chance = tmp_path_factory.mktemp("labelled"), random.Random(1)
    rest = [word for word in WORDS if word not in ("good", "fine", "bright", "bad", "dull", "dark")]
    for name, count in (("train.csv", 240), ("test.csv", 60)):
        with open(folder / name, "w", newline="", encoding="utf-8") as out:
            writer = csv.writer(out)
            writer.writerow(["id", "review", "stars"])
            for i in range(count):
                good = chance.random() < 0.5
                words = [chance.choice(rest) for _ in range(chance.randint(6, 50))]
                for _ in range(3):
                    words.insert(chance.randrange(len(words)), chance.choice(
                        ["good", "fine", "bright"] if good else ["bad", "dull", "dark"]))
                writer.writerow([i, " ".join(words), "five" if good else "one"])
    return folder


def test_help_has_examples_and_wrong_usage_ends_with_2():
    assert "examples:" in run("--help").stdout
    good = ["m", "-o", "x", "--texts", "t"]
    for wrong in ([], ["m"], [*good, "--k", "-1"], [*good, "--rate", "nan"]):
        assert "linearise" in run(*wrong, code=2).stderr


def test_an_option_given_twice_adds_its_values():
    options = command.make_parser().parse_args(["m", "-o", "x", "--texts", "a", "--texts", "b", "c"])
    assert options.texts == ["a", "b", "c"]


def test_from_a_model_to_a_student_that_converts(texts, programs, tmp_path):
    model = make_model(tmp_path / "teacher")
    config = json.loads((model / "config.json").read_text())
    # As in all-MiniLM-L6-v2, max_seq_length is less than the number of positions (64).
    (model / "config.json").write_text(json.dumps({**config, "max_seq_length": 40}))
    done = run(model, "--texts", texts, "-o", tmp_path / "student", *SMALL)
    assert "worth" in done.stdout and "linformer-convert" in done.stdout and done.stderr == ""
    report = json.loads((tmp_path / "student" / "report.json").read_text())
    assert [row["n"] for row in report["speed"]] == [16, 32, 64] and report["training"]["steps"] == 6
    assert report["compared"]["cosine"]["texts"] == 12 and len(report["layers"]["layers"]) == 3
    assert "<svg" in (tmp_path / "student" / "report.html").read_text()
    assert not (tmp_path / "student" / "work" / "training.pt").exists()
    programs.convert(tmp_path / "student", tmp_path / "student.lnfr")
    shown = json.loads(programs.run("linformer", "inspect", tmp_path / "student.lnfr", "--json"))
    assert "span" in json.dumps(shown)


def test_the_same_seed_gives_the_same_student(texts, tmp_path):
    model = make_model(tmp_path / "teacher")
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        run(model, "--texts", texts, "-o", tmp_path / name, *SMALL, "--seed", seed, "--no-speed")
    a, b, c = ((tmp_path / name / "model.safetensors").read_bytes() for name in "abc")
    assert a == b and a != c


def test_a_plain_bert_and_a_table_of_labelled_reviews(labelled, programs, tmp_path):
    """A user fine-tunes a BERT without a head on a CSV file and makes a Linformer from it."""
    model = make_model(tmp_path / "bert", spread=0.1)
    run(model, "--texts", labelled / "train.csv", "--test", labelled / "test.csv", "--field", "review", "--labels",
        "stars", "-o", tmp_path / "student", *SMALL, "--steps", 250, "--check-every", 50, "--rate", 0.002, "--held-out",
        60)
    report = json.loads((tmp_path / "student" / "report.json").read_text())
    assert report["classes"] == ["five", "one"]
    assert report["compared"]["teacher_accuracy"]["value"] > 0.8 and report["compared"]["accuracy"]["value"] > 0.8
    programs.convert(tmp_path / "student", tmp_path / "student.lnfr")
    shown = json.loads(programs.run("linformer", "classify", tmp_path / "student.lnfr", "-i", labelled / "test.csv",
                                    "--field", "review", "--eval", "stars", "--json", "--quiet"))
    assert shown["evaluation"]["accuracy"] == pytest.approx(report["compared"]["accuracy"]["value"], abs=1 / 60)
    assert (tmp_path / "student" / "work" / "teacher" / "config.json").exists()


def test_a_classifier_that_exists(labelled, tmp_path):
    model = make_model(tmp_path / "teacher", head=["five", "one"], spread=0.15)
    run(model, "--texts", labelled / "train.csv", "--field", "review", "-o", tmp_path / "student", *SMALL, "--no-speed",
        "--plan", "w4k6,full,k12", "--initialise", "svd", "--separate")
    report = json.loads((tmp_path / "student" / "report.json").read_text())
    assert report["compared"]["kind"] == "classes" and "agreement" in report["compared"]
    assert report["plan"] == "w4k6,full,k12"


def test_converting_and_fine_tuning_at_once(labelled, tmp_path):
    model = make_model(tmp_path / "bert", spread=0.15)
    run(model, "--texts", labelled / "train.csv", "--field", "review", "--labels", "stars", "-o", tmp_path / "student",
        *SMALL, "--no-speed", "--at-once", "--length", 120)
    report = json.loads((tmp_path / "student" / "report.json").read_text())
    assert report["length"] == 120 and report["teacher_positions"] == 64


def test_a_budget_that_cannot_be_met_or_needs_no_change(texts, programs, tmp_path):
    model = make_model(tmp_path / "teacher")
    for budget, words in (("0.001ms", "no plan"), ("1000ms", "needs no change")):
        assert words in run(model, "--texts", texts, "-o", tmp_path / "s", *SMALL, "--budget", budget, code=1).stderr


def test_an_interrupted_run_goes_on(texts, tmp_path):
    model = make_model(tmp_path / "teacher")
    arguments = [model, "--texts", texts, "-o", tmp_path / "student", *SMALL, "--steps", 60, "--check-every", 5,
                 "--no-speed"]
    run(*arguments[:4], tmp_path / "whole", *arguments[5:])
    process = subprocess.Popen([sys.executable, "-m", "linearise", *map(str, arguments)], env=environment(),
                               stderr=subprocess.PIPE, text=True)
    checkpoint, end = tmp_path / "student" / "work" / "training.pt", time.monotonic() + 200
    while not checkpoint.exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    errors = process.communicate(timeout=100)[1]
    if process.returncode != 0:  # It is 0 if the process ended before the signal came.
        assert process.returncode == 1 and "goes on" in errors
        run(*arguments)
    assert (tmp_path / "student" / "model.safetensors").read_bytes() == (
        tmp_path / "whole" / "model.safetensors").read_bytes()


def test_a_plan_that_the_runtime_cannot_execute_is_refused_before_training(texts, tmp_path):
    model = make_model(tmp_path / "teacher", "mpnet")
    done = run(model, "--texts", texts, "-o", tmp_path / "student", *SMALL, "--no-speed", "--window", 0, code=1)
    assert "adds a bias" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("wrong,words", [
    (["--plan", "full"], "nothing to train"), (["--plan", "w4"], None), (["--full", "9"], "is not a layer"),
    (["--device", "cuda:99"], "can't be used"), (["--labels", "stars"], "has no label"), (["--k", "1"], "no room"),
    (["--budget", "fast"], "neither a time")])
def test_what_cannot_be_done_is_one_line(texts, wrong, words, tmp_path):
    model = make_model(tmp_path / "teacher")
    done = run(model, "--texts", texts, "-o", tmp_path / "student", *SMALL, "--no-speed", *wrong,
               code=1 if words else 0)
    if words:
        assert words in done.stderr and done.stderr.count("\n") == 1
