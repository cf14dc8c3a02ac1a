"""Measures models on reviews that are too long for the fine-tuned Transformer. The Transformer reads their first
tokens, or reads them in windows. The Linformers that are made from it read them whole."""
import torch

from linearise import encoder, programs
from study import accuracy, labels_report, labels_train
from study.controls import safe
from study.runs import Run

GROUP = labels_train.GROUP
TASK = "imdb-long"
WAYS = ("first", "windows")  # The ways in which the Transformer reads a review.
PLANS = (("w64k64", 1024), ("w64k64", 2048))
# Students are trained with reviews of at least `least_words` words, so that the columns of E beyond position 512 are
# trained, too.
SIZES = {"steps": 110, "tokens": 2048, "rate": 2e-4, "decay": 0.01, "train_texts": 2000, "least_words": 300,
         "extend": "tile", "test_texts": 300, "seconds": 2.0, "plans": PLANS}


def runs(teacher, sizes, matrices):
    """Returns the runs for one seed. `teacher` are the settings of the Transformer's training on imdb, and `matrices`
    are the settings of E and F."""
    common = {"model": teacher["model"], "test_texts": sizes["test_texts"], "seconds": sizes["seconds"],
              "teacher": teacher}
    name, seed = labels_train.teacher_name(teacher), teacher["seed"]
    made = [Run(GROUP, reading_name(teacher["model"], way, seed), {**common, "read": way}, compute_reading, (name,))
            for way in WAYS]
    training = {key: sizes[key] for key in ("steps", "tokens", "rate", "decay", "train_texts", "least_words", "extend")}
    for plan, length in sizes["plans"]:
        chosen = {**common, **training, **matrices, "plan": plan, "mode": "after", "seed": seed, "length": length}
        made.append(Run(GROUP, student_name(teacher["model"], plan, length, seed), chosen, compute_student, (name,)))
    return made


def reading_name(model, way, seed):
    return f"{labels_train.prefix(model)}long-teacher-{way}-seed{seed}"


def student_name(model, plan, length, seed):
    return f"{labels_train.prefix(model)}long-{safe(plan)}-n{length}-seed{seed}"


def reviews(chosen, context):
    return labels_train.examples(context.data, TASK, "test", chosen["test_texts"])


def windows_of(length, most):
    """Returns the number of windows of `most` tokens in which `linformer classify` reads a text of `length` tokens,
    with the default overlap of a quarter. Each window is full: the last window ends with the text."""
    room, inner = most - 2, length - 2
    step = room - room // 4
    return 1 if inner <= room else -(-(inner - room) // step) + 1


def compute_reading(chosen, context):
    """Measures the fine-tuned Transformer itself."""
    labels_train.check_programs()
    folder, most = labels_train.teacher_folder(chosen["teacher"], context), chosen["teacher"]["length"]
    tested = reviews(chosen, context)
    lengths = labels_train.token_counts(tested, folder, 1 << 20)
    windows = [windows_of(n, most) if chosen["read"] == "windows" else 1 for n in lengths]
    mean = sum(windows) / len(windows)
    with labels_train.work_folder(context) as work:
        file = labels_train.convert(folder, work)
        made = accuracy.accuracy(file, tested, work, "--on-long",
                                     "window" if chosen["read"] == "windows" else "truncate")
        ms = bench(file, most, chosen)
    return {**made, "mean_tokens": round(sum(lengths) / len(lengths), 1), "windows": round(mean, 4),
            "cut": sum(n > most for n in lengths) if chosen["read"] == "first" else 0,
            "speed": {"tokens": most, "ms": round(ms * mean, 3)}}


def compute_student(chosen, context):
    """Trains and measures a Linformer with an extended table of positions. The Transformer reads the training texts
    that are too long for it in windows. `full_ms` is the time of a Transformer with the same extended table."""
    labels_train.check_programs()
    length = chosen["length"]
    student = labels_train.make_student(chosen, context)
    source = labels_train.teacher_folder(chosen["teacher"], context)
    tested = reviews(chosen, context)
    lengths = labels_train.token_counts(tested, source, 1 << 20)
    with labels_train.work_folder(context) as work:
        student.save(work / "student", length)
        file = labels_train.convert(work / "student", work)
        made = accuracy.accuracy(file, tested, work)
        read = min(sorted(lengths)[len(lengths) // 2], length)
        ms = bench(file, read, chosen)
        encoder.load(source, positions=length, extend=chosen["extend"]).save(work / "full", length)
        full = bench(labels_train.convert(work / "full", work), read, chosen)
    return {**made, "mean_tokens": round(sum(lengths) / len(lengths), 1), "windows": 1,
            "cut": sum(n > length for n in lengths),
            "speed": {"tokens": read, "ms": round(ms, 3), "full_ms": round(full, 3)}}


def bench(file, length, chosen):
    return programs.bench(file, length, torch.get_num_threads(), chosen["seconds"])["ms"]


def rows(context, model, seeds):
    """Returns a row for each way to read long reviews. It has the accuracy over the seeds, the difference from the
    Transformer on windows, and the mean time of a text."""
    def of(name, *arguments):
        return [context.result(GROUP, name(model, *arguments, seed)) for seed in range(seeds)]
    ways = {"Transformer, first tokens": of(reading_name, "first"), "Transformer, windows": of(reading_name, "windows")}
    for plan, length in PLANS:
        ways[f"`{plan}`, n = {length:,}"] = of(student_name, plan, length)
    made = []
    for name, results in ways.items():
        found = [one for one in results if one is not None]
        row = {"name": name, "model": model, **labels_report.over_seeds(results, ways["Transformer, windows"])}
        for key in ("cut", "windows"):
            row[key] = found[0]["measured"][key] if found else None
        for key in ("tokens", "ms", "full_ms"):
            row[key] = labels_report.mean([one["speed"][key] for one in found if key in one["speed"]])
        made.append(row)
    return made
