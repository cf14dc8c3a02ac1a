"""Measures how much accuracy Linformers lose on tasks with labels.

A Transformer is fine-tuned on each task. A Linformer is made either from the fine-tuned Transformer (mode `after`) or
from the pretrained Transformer before its fine-tuning (mode `at-once`), and is then trained. labels_train.py has the
training, labels_long.py the long reviews, and labels_report.py the tables.
"""
from study import accuracy, labels_long, labels_report, labels_train
from study.controls import safe
from study.runs import Run

GROUP = labels_train.GROUP
MODELS = ("minilm",)
SEEDS = 3
MODES = labels_train.MODES
PLANS = ("k64", "k128", "w16k16", "w64k64")
# The plans for tasks whose texts mostly fit into a window of 64 to each side, and the plans for imdb.
SHORT = ("k64", "w16k16")
LONG = ("k64", "k128", "w64k64")
# For each task: the most tokens of a text, the training steps of the Transformer and of a student, and the numbers of
# texts. A run takes 2 to 6 minutes on one core.
TASKS = {
    "sst2": {"length": 128, "teacher_steps": 200, "steps": 150, "train_texts": 14000, "test_texts": 872},
    "imdb": {"length": 512, "teacher_steps": 160, "steps": 120, "train_texts": 2000, "test_texts": 1000},
    "rte": {"length": 128, "teacher_steps": 140, "steps": 90, "train_texts": 2490, "test_texts": 277},
    "mrpc": {"length": 128, "teacher_steps": 150, "steps": 110, "train_texts": 4076, "test_texts": 1725},
    "qnli": {"length": 128, "teacher_steps": 150, "steps": 110, "train_texts": 4463, "test_texts": 1000}}
TRAINING = {"tokens": 2048, "rate": 2e-4, "decay": 0.01}
MATRICES = {"matrix_rate": 3e-4, "initialise": "pool"}


def runs(tasks=TASKS, sizes=labels_long.SIZES):
    """Returns the runs of all seeds, ordered by seed. `tasks` maps names to sizes like TASKS, and must have imdb.
    `sizes` are the sizes of the long reviews, which use the Transformer of imdb."""
    made = []
    for model in MODELS:
        for seed in range(SEEDS):
            for task in tasks:
                made += task_runs(model, task, seed, tasks[task])
            made += labels_long.runs(teacher_settings(model, "imdb", seed, tasks["imdb"]), sizes, MATRICES)
    return made


def task_runs(model, task, seed, sizes, plans=None):
    """Returns the run of the Transformer and the runs of its students. If `plans` is None, the task's own plans are
    used."""
    plans = plans or (LONG if task == "imdb" else SHORT)
    teacher = teacher_settings(model, task, seed, sizes)
    common = {"model": model, "test_texts": sizes["test_texts"], "teacher": teacher}
    name = labels_train.teacher_name(teacher)
    made = [Run(GROUP, name, common, compute_teacher)]
    for plan in plans:
        for mode in MODES:
            chosen = {**common, **TRAINING, **MATRICES, "plan": plan, "mode": mode, "seed": seed,
                      "length": sizes["length"], "steps": sizes["steps"], "train_texts": sizes["train_texts"]}
            made.append(Run(GROUP, student_name(model, task, plan, mode, seed), chosen, compute_student, (name,)))
    return made


def student_name(model, task, plan, mode, seed):
    return f"{labels_train.prefix(model)}{task}-{safe(plan)}-{mode}-seed{seed}"


def teacher_settings(model, task, seed, sizes):
    """Returns the settings that determine the fine-tuned Transformer."""
    return {"model": model, "task": task, "seed": seed, "length": sizes["length"], "steps": sizes["teacher_steps"],
            "train_texts": sizes["train_texts"], **TRAINING}


def compute_teacher(chosen, context):
    """Fine-tunes the Transformer and measures it. It is trained again also if its folder exists, so that repeating a
    run repeats its computation."""
    labels_train.check_programs()
    return measure(labels_train.fine_tune(chosen["teacher"], context), chosen, chosen["teacher"]["length"], context)


def compute_student(chosen, context):
    labels_train.check_programs()
    student = labels_train.make_student(chosen, context)
    with labels_train.work_folder(context) as work:
        student.save(work / "student", chosen["length"])
        return measure(work / "student", chosen, chosen["length"], context)


def measure(folder, chosen, length, context):
    """Returns the accuracy of the model file, the mean number of tokens of a text, and the number of texts with more
    than 65 tokens. With a window of 64 to each side, shorter texts have full attention."""
    tested = labels_train.examples(context.data, chosen["teacher"]["task"], "test", chosen["test_texts"])
    with labels_train.work_folder(context) as work:
        made = accuracy.accuracy(labels_train.convert(folder, work), tested, work)
    lengths = labels_train.token_counts(tested, folder, length)
    return {**made, "mean_tokens": round(sum(lengths) / len(lengths), 2), "beyond_65": sum(n > 65 for n in lengths)}


def rows(context):
    """Returns a dict for each model, task, plan and mode with the accuracy over the seeds
    (labels_report.over_seeds)."""
    made = []
    for model in MODELS:
        for task in TASKS:
            teachers = results(context, model, task, "full", None)
            made.append({"model": model, "task": task, "plan": "full", "mode": None,
                         **labels_report.over_seeds(teachers, teachers)})
            for plan in PLANS:
                for mode in MODES:
                    made.append({"model": model, "task": task, "plan": plan, "mode": mode, **labels_report.over_seeds(
                        results(context, model, task, plan, mode), teachers)})
    return made


def results(context, model, task, plan, mode):
    """Returns a list with the result of each seed, or None for a missing result."""
    def name(seed):
        if mode is None:
            return labels_train.teacher_name({"model": model, "task": task, "seed": seed})
        return student_name(model, task, plan, mode, seed)
    return [context.result(GROUP, name(seed)) for seed in range(SEEDS)]


def report(context):
    """Returns the section of RESULTS.md in Markdown."""
    parts = [labels_report.HEAD]
    for model in MODELS:
        found = [row for row in rows(context) if row["model"] == model]
        parts.append(labels_report.tasks(model, found, [(plan, mode) for plan in PLANS for mode in MODES]))
        parts.append(labels_report.reviews(model, labels_long.rows(context, model, SEEDS)))
    return "\n".join(parts)


def pictures(context):
    """Returns a dict from file names to SVG pictures."""
    made = {}
    for model in MODELS:
        picture = labels_report.picture(model, labels_long.rows(context, model, SEEDS))
        if picture:
            made[f"labels-{labels_train.prefix(model)}long.svg"] = picture
    return made
