"""Tests the study's group "labels" with small models and made-up texts in the formats of the corpora."""
import dataclasses
import gzip
import json
import math
import random
import types

import numpy
import pytest
import torch

from conftest import make_model, make_texts
from linearise import encoder, evaluate, texts
from linearise.errors import UserError
from linearise.train import Stopped
from study import accuracy, labels, labels_long, labels_report, labels_train
from study.runs import Context, Run, execute, is_done

CPU = torch.device("cpu")
SIZES = {"length": 40, "teacher_steps": 3, "steps": 3, "train_texts": 30, "test_texts": 20}
PLANS = ("k6", "w4k6")
LONG = {**labels_long.SIZES, "steps": 2, "tokens": 256, "train_texts": 8, "least_words": 50, "test_texts": 9,
        "seconds": 0.01, "plans": (("w4k6", 128),)}


def lines(path, records):
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(json.dumps(record) + "\n" for record in records).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def make_data(folder):
    """Writes corpora. Three training steps are too few to learn their labels."""
    chance = random.Random(7)
    def table(name, count):
        path = folder / "sst2" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = [f"{words}\t{i % 2}\n" for i, words in enumerate(make_texts(count, len(name), longest=30))]
        path.write_text("sentence\tlabel\n" + "".join(rows), encoding="utf-8")
    def pairs(name, count):
        made = make_texts(2 * count, len(name), longest=30)
        lines(folder / "pairs" / name, [{"a": made[2 * i], "b": made[2 * i + 1], "label": chance.choice(
            ["entailment", "not_entailment"])} for i in range(count)])
    def reviews(name, count, shortest, longest):
        made = make_texts(count, len(name), shortest, longest)
        lines(folder / "imdb" / name, [{"text": words, "label": i % 2} for i, words in enumerate(made)])
    table("train.tsv", 50)
    table("dev.tsv", 30)
    pairs("rte_train.jsonl", 40)
    pairs("rte_dev.jsonl", 25)
    reviews("train.jsonl.gz", 40, 10, 150)
    reviews("test.jsonl.gz", 20, 10, 80)
    reviews("test_long600w.jsonl", 12, 70, 200)
    return folder


@pytest.fixture(scope="module")
def setting(tmp_path_factory):
    """The folders of all runs. The model's weights are so large that its answers are not all the same."""
    folder = tmp_path_factory.mktemp("study")
    return types.SimpleNamespace(data=make_data(folder / "data"), model=make_model(folder / "bert", spread=0.3))


@pytest.fixture
def context(setting, tmp_path):
    return Context(setting.data, tmp_path / "work", tmp_path / "results", {"minilm": setting.model})


def small_runs(task="sst2", seed=0):
    return labels.task_runs("minilm", task, seed, SIZES, PLANS)


def execute_pending(runs, context):
    """Executes the runs that are not done, like `python -m study`, and returns their names."""
    done = [run.name for run in runs if not is_done(run, context)]
    for run in runs:
        if run.name in done:
            execute(run, context, 1)
    return done


def teacher_file(context, task="sst2"):
    return context.work / "labels" / f"{task}-teacher-seed0" / "model" / "model.safetensors"


def test_the_runs_have_names_and_settings_of_their_own():
    runs = labels.runs()
    names = [run.name for run in runs]
    assert len(set(names)) == len(names) and len(names) == 3 * (4 * 5 + 7 + 4)
    assert {"rte-teacher-seed0", "rte-w16k16-after-seed2", "rte-k64-at-once-seed1", "long-teacher-windows-seed0",
            "long-w64k64-n2048-seed0"} <= set(names)
    assert len({json.dumps(run.settings, sort_keys=True) for run in runs}) == len(runs)
    for i, run in enumerate(runs):
        assert run.group == "labels" and run.settings["model"] == "minilm" and set(run.needs) <= set(names[:i])


def test_another_model_has_names_of_its_own():
    runs = labels.task_runs("bge-small", "rte", 0, labels.TASKS["rte"])
    assert runs[0].name == "bge-small-rte-teacher-seed0" and runs[1].needs == ("bge-small-rte-teacher-seed0",)
    assert all(run.settings["model"] == run.settings["teacher"]["model"] == "bge-small" for run in runs)


def test_texts_are_taken_from_all_parts_alike(setting):
    every = labels_train.examples(setting.data, "sst2", "train", 1000)
    part = labels_train.examples(setting.data, "sst2", "train", 5)
    assert len(every) == 50 and part.texts == [every.texts[i] for i in (0, 10, 20, 30, 40)]
    longer = labels_train.examples(setting.data, "imdb", "train", 1000, least_words=100)
    assert 0 < len(longer) < 40 and all(len(words[0].split()) >= 100 for words in longer.texts)
    with pytest.raises(UserError, match="no texts of at least 1000 words"):
        labels_train.examples(setting.data, "imdb", "train", 10, least_words=1000)


@pytest.mark.parametrize("task", ["sst2", "rte"])
def test_a_transformer_and_a_student_of_each_plan_and_mode(programs, context, task):
    runs = small_runs(task)
    assert execute_pending(runs, context) == [run.name for run in runs]
    for run in runs:
        made = context.result("labels", run.name)
        measured = made["measured"]
        correct, count = measured["correct"], 20
        assert measured["texts"] == count and 0 < correct < count and measured["accuracy"] == correct / count
        assert measured["error"] == pytest.approx(math.sqrt(correct / count * (1 - correct / count) / count), abs=1e-6)
        assert 5 < measured["mean_tokens"] <= 40 and measured["beyond_65"] == 0
        assert made["settings"] == run.settings and made["command"] == f"python -m study --run labels/{run.name}"
    assert {path.name for path in (context.work / "labels").iterdir()} == {f"{task}-teacher-seed0"}
    assert execute_pending(runs, context) == []


@pytest.mark.parametrize("task", ["sst2", "rte"])
def test_the_accuracy_is_that_of_pytorch(programs, context, task):
    tested = labels_train.examples(context.data, task, "test", 1000)
    for run in (small_runs(task)[0], small_runs(task)[-1]):
        made = execute(run, context, 1)["measured"] if not run.needs else None
        if made is None:
            model = labels_train.make_student(run.settings, context)
            made = execute(run, context, 1)["measured"]
        else:
            model = encoder.load(labels_train.teacher_folder(run.settings["teacher"], context))
        tokens = texts.tokenize(tested.part([i * len(tested) // 20 for i in range(20)]), model.tokenizer, 40,
                                model.labels())
        answers = numpy.stack(evaluate.answers(model, tokens, CPU)).argmax(1)
        assert made["correct"] == int((answers == numpy.array(tokens.labels)).sum())


def test_done_runs_are_not_repeated(programs, context):
    runs, calls = [], []
    for run in small_runs()[:2]:
        def compute(chosen, context, run=run):
            calls.append(run.name)
            return run.compute(chosen, context)
        runs.append(dataclasses.replace(run, compute=compute))
    names = [run.name for run in runs]
    execute_pending(runs[:1], context)
    execute_pending(runs, context)
    execute_pending(runs, context)
    assert calls == names
    changed = dataclasses.replace(runs[1], settings={**runs[1].settings, "steps": 4})
    assert execute_pending([runs[0], changed], context) == names[1:] and calls == names + names[1:]


def test_a_lost_transformer_is_made_again(programs, context):
    teacher, student = small_runs()[0], small_runs()[-1]
    execute(teacher, context, 1)
    first = execute(student, context, 1)["measured"]
    weights = teacher_file(context).read_bytes()
    kept = teacher_file(context).stat().st_mtime_ns
    execute(student, context, 1)
    assert teacher_file(context).stat().st_mtime_ns == kept
    labels_train.shutil.rmtree(context.work)
    assert execute(student, context, 1)["measured"] == first
    assert teacher_file(context).read_bytes() == weights
    other = {**teacher.settings["teacher"], "steps": 4}
    labels_train.teacher_folder(other, context)
    assert teacher_file(context).read_bytes() != weights


def test_a_repeated_run_of_the_transformer_trains_again(programs, context, monkeypatch):
    teacher = small_runs()[0]
    first = execute(teacher, context, 1)["measured"]
    trained, inner = [], labels_train.fit
    monkeypatch.setattr(labels_train, "fit", lambda *inputs: trained.append(1) or inner(*inputs))
    assert execute(teacher, context, 1)["measured"] == first and trained == [1]


def test_an_interrupted_run_leaves_nothing_that_looks_complete(programs, context, monkeypatch):
    def stop(*inputs):
        raise Stopped
    monkeypatch.setattr(labels_train, "fit", stop)
    run = small_runs()[0]
    with pytest.raises(KeyboardInterrupt):
        execute(run, context, 1)
    assert not is_done(run, context) and not teacher_file(context).parent.exists()


def test_where_each_mode_begins_and_what_it_learns_from(context, monkeypatch):
    teacher, after, at_once = (run.settings for run in small_runs()[:3])
    tuned = encoder.load(labels_train.teacher_folder(teacher["teacher"], context))
    calls = []
    monkeypatch.setattr(labels_train, "fit", lambda *inputs: calls.append(inputs))
    pretrained = encoder.load(context.models["minilm"])
    for chosen, source in ((after, tuned), (at_once, pretrained)):
        student = labels_train.make_student(chosen, context)
        own, other = student.model.base_model.state_dict(), source.model.base_model.state_dict()
        name = next(name for name in own if name.endswith("layer.1.output.dense.weight"))
        assert torch.equal(own[name], other[name]) and student.classifies and student.labels() == ["0", "1"]
    own, other = tuned.model.base_model.state_dict(), pretrained.model.base_model.state_dict()
    assert not torch.equal(own[name], other[name])
    for _, reference, tokens, _, _ in calls:
        wanted = tuned.model.state_dict()
        assert all(torch.equal(tensor, wanted[key]) for key, tensor in reference.encoder.model.state_dict().items())
        assert tokens.labels[0] in (0, 1) and len(tokens) == 30


def test_missing_programs_are_said_before_training(context, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("LINFORMER_CPP_PROGRAMS", "")
    for run in small_runs()[:2]:
        with pytest.raises(UserError, match="needs the programs"):
            execute(run, context, 1)
    assert not context.work.exists()


def test_long_reviews(programs, context, monkeypatch):
    measured = []
    def bench(file, length, threads, seconds):
        shown = json.loads(programs.run("linformer", "inspect", file, "--json"))
        measured.append((length, threads, seconds, shown["max_tokens"], shown["layers"][0]["window"]))
        return {"ms": 2.0 * len(measured)}
    monkeypatch.setattr(programs, "bench", bench)
    teacher = labels.teacher_settings("minilm", "imdb", 0, {**SIZES, "length": 64})
    runs = labels_long.runs(teacher, LONG, labels.MATRICES)
    assert [run.name for run in runs] == ["long-teacher-first-seed0", "long-teacher-windows-seed0",
                                          "long-w4k6-n128-seed0"]
    first, windows, student = (execute(run, context, 1) for run in runs)
    tested = labels_train.examples(context.data, "imdb-long", "test", 9)
    lengths = [len(words[0].split()) + 2 for words in tested.texts]  # Each word is one token.
    for made in (first, windows, student):
        assert made["measured"]["texts"] == 9 and "speed" not in made["measured"]
        assert made["measured"]["mean_tokens"] == pytest.approx(sum(lengths) / 9, abs=0.1)
    assert first["measured"]["cut"] == 9 and windows["measured"]["cut"] == 0
    assert student["measured"]["cut"] == sum(n > 128 for n in lengths) > 0
    read = min(sorted(lengths)[4], 128)
    assert measured == [(64, 1, 0.01, 64, 0)] * 2 + [(read, 1, 0.01, 128, 4), (read, 1, 0.01, 128, 0)]
    assert first["speed"] == {"tokens": 64, "ms": 2.0}
    assert student["speed"] == {"tokens": read, "ms": 6.0, "full_ms": 8.0}
    with labels_train.work_folder(context) as work:
        file = labels_train.convert(labels_train.teacher_folder(teacher, context), work)
        accuracy.accuracy(file, tested, work)
        shown = programs.run("linformer", "classify", file, "-i", work / "test.jsonl", "--on-long", "window", "--json",
                             "--quiet")
    counted = [json.loads(line)["windows"] for line in shown.splitlines()]
    assert counted == [labels_long.windows_of(n, 64) for n in lengths] and len(set(counted)) > 1
    assert windows["measured"]["windows"] == pytest.approx(sum(counted) / 9, abs=1e-4)
    assert windows["speed"]["ms"] == pytest.approx(4 * sum(counted) / 9, abs=0.001)


def test_windows_by_hand():
    # A window of 64 has 62 tokens of the text. Neighbouring windows share 15 of these, so each begins 47 tokens after
    # the one before it.
    assert [labels_long.windows_of(n, 64) for n in (3, 64, 65, 111, 112)] == [1, 1, 2, 2, 3]


def result(accuracy, seconds=90.0, **more):
    return {"measured": {"accuracy": accuracy, "texts": 100, "error": 0.04, "beyond_65": 7, **more}, "seconds": seconds}


def test_standard_errors_by_hand():
    assert accuracy.share(3, 4) == {"texts": 4, "correct": 3, "accuracy": 0.75, "error": 0.216506}
    row = labels_report.over_seeds([result(0.8), None, result(0.9, 150.0)], [result(0.7), result(0.9), result(0.84)])
    assert row["accuracy"] == pytest.approx(0.85) and row["error"] == pytest.approx(0.05)
    assert row["difference"] == pytest.approx(0.08) and row["difference_error"] == pytest.approx(0.02)
    assert (row["seeds"], row["of"], row["texts"], row["minutes"]) == (2, 3, 100, 2.0)
    assert labels_report.accuracy(row) == "0.8500 ± 0.0500 (2 of 3)"
    assert labels_report.difference(row) == "+0.0800 ± 0.0200"
    one = labels_report.over_seeds([result(0.8)], [None])
    assert one["error"] is None and one["difference"] is None
    assert labels_report.accuracy(one) == "0.8000" and labels_report.difference(one) == "-"
    nothing = labels_report.over_seeds([None, None], [None, None])
    assert nothing["accuracy"] is None and labels_report.accuracy(nothing) == "-"


def cells(text, name, number):
    """Returns the cells of a row called `name`. `number` is the index among all rows of this name in the text."""
    found = [line for line in text.splitlines() if line.startswith(f"| {name} |")]
    return [cell.strip() for cell in found[number].strip("|").split("|")]


def test_the_report_shows_results_and_dashes(context):
    text = labels.report(context)
    assert set(cells(text, "rte", 0)[1:] + cells(text, "rte", 1)[1:]) == {"-"}
    assert labels.pictures(context) == {} and all(row["accuracy"] is None for row in labels.rows(context))
    def keep(name, made):
        path = context.file("labels", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(made), encoding="utf-8")
    for seed, (own, other) in enumerate(((0.6, 0.65), (0.62, 0.63), (0.64, 0.64))):
        keep(f"rte-w16k16-at-once-seed{seed}", result(own))
        keep(f"rte-teacher-seed{seed}", result(other))
    long = {"cut": 9, "windows": 2.25}
    keep("long-teacher-windows-seed0", {**result(0.8, **long), "speed": {"tokens": 512, "ms": 40.0}})
    keep("long-w64k64-n1024-seed0", {**result(0.82, **long), "speed": {"tokens": 900, "ms": 20.0, "full_ms": 50.0}})
    text = labels.report(context)
    assert cells(text, "rte", 0) == ["rte", "100", "7", "0.0400", "0.6400 ± 0.0058", *"-----", "0.6200 ± 0.0115",
                                     "-", "-"]
    assert cells(text, "rte", 1) == ["rte", *"-----", "-0.0200 ± 0.0153", "-", "-"]
    assert cells(text, "`w64k64`, n = 1,024", 0) == ["`w64k64`, n = 1,024", "100", "9", "2.2", "0.8200 (1 of 3)",
                                                     "+0.0200", "20.0", "50.0"]
    assert cells(text, "`w64k64`, n = 2,048", 0)[1:] == ["-"] * 7
    [(name, picture)] = labels.pictures(context).items()
    assert name == "labels-long.svg" and picture.startswith("<svg") and "w64k64, n = 1,024" in picture
    row = next(row for row in labels.rows(context) if (row["task"], row["plan"], row["mode"]) == ("rte", "full", None))
    assert row["minutes"] == 1.5 and row["sampling"] == pytest.approx(0.04)


def test_speed_stays_outside_of_what_is_compared(context):
    run = Run("labels", "made-up", {"seed": 0}, lambda chosen, context: {"correct": 3, "speed": {"ms": 1.5}})
    made = execute(run, context, 1)
    assert made["measured"] == {"correct": 3} and made["speed"] == {"ms": 1.5} and is_done(run, context)
    plain = dataclasses.replace(run, compute=lambda chosen, context: {"correct": 3})
    assert "speed" not in execute(plain, context, 1)
