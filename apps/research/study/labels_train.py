"""Fine-tunes a Transformer and makes Linformers from it.

The models have the weights of the last step. No held-out text is used to choose among the steps.
"""
import contextlib
import json
import os
import pathlib
import shutil
import tempfile

from linearise import encoder, initialise, plan, programs, texts, train
from linearise.errors import UserError
from linearise.windows import Windows
from study import corpora
from study.accuracy import spread_out

GROUP = "labels"  # The name of the group, and of its folder in Context.work.
MODES = ("after", "at-once")
SETTINGS = "settings.json"


def teacher_name(teacher):
    """Returns the name of the run of a fine-tuned Transformer. `teacher` are the settings of its training."""
    return f"{prefix(teacher['model'])}{teacher['task']}-teacher-seed{teacher['seed']}"


def prefix(model):
    return "" if model == "minilm" else f"{model}-"


def examples(data, task, part, most, least_words=0):
    """Returns at most `most` texts of a task, evenly spread over those that have at least `least_words` words."""
    made = corpora.task(data, task, part)
    if least_words:
        made = made.part([i for i, words in enumerate(made.texts) if len(words[0].split()) >= least_words])
    count = len(made)
    if count == 0:
        raise UserError(f"the task {task} has no texts of at least {least_words} words.")
    return made.part(spread_out(count, most))


@contextlib.contextmanager
def work_folder(context):
    """Gives a temporary folder for files of a run."""
    place = context.work / GROUP
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place) as folder:
        yield pathlib.Path(folder)


def fit(model, teacher, tokens, chosen, context):
    """Trains a model with labels, and also with the answers and hidden states of `teacher` if it isn't None."""
    schedule = train.Schedule(
        steps=chosen["steps"], tokens=chosen["tokens"], rate=chosen["rate"], seed=chosen["seed"], decay=chosen["decay"],
        matrix_rate=chosen.get("matrix_rate", 0.0), hidden=0.0 if teacher is None else 1.0, cut=False, dropout=True,
        train_words=True)
    train.Trainer(model, teacher, tokens, tokens.part([]), schedule, None, context.device, context.progress).run()


def fine_tune(teacher, context):
    """Trains the Transformer with a new head, and returns its folder."""
    used = examples(context.data, teacher["task"], "train", teacher["train_texts"])
    classes = texts.class_names(used)
    model = encoder.load(context.models[teacher["model"]], classes=classes, seed=teacher["seed"])
    fit(model, None, texts.tokenize(used, model.tokenizer, teacher["length"], classes), teacher, context)
    place = context.work / GROUP / teacher_name(teacher)
    with work_folder(context) as made:
        model.save(made / "new" / "model", teacher["length"])
        (made / "new" / SETTINGS).write_text(json.dumps(teacher), encoding="utf-8")
        shutil.rmtree(place, ignore_errors=True)
        os.replace(made / "new", place)  # The folder is renamed at the end, so it is always complete.
    return place / "model"


def teacher_folder(teacher, context):
    """Returns the folder of the fine-tuned Transformer. It is trained again if the folder doesn't exist or was made
    with other settings."""
    place = context.work / GROUP / teacher_name(teacher)
    if (place / SETTINGS).exists() and json.loads((place / SETTINGS).read_text(encoding="utf-8")) == teacher:
        return place / "model"
    return fine_tune(teacher, context)


def make_student(chosen, context):
    """Returns a trained Linformer. In the mode `after` it begins with the weights of the fine-tuned Transformer. In the
    mode `at-once` it begins with the weights from before fine-tuning and a new head. Both are trained with labels and
    with the fine-tuned Transformer as the teacher."""
    teacher, length = chosen["teacher"], chosen["length"]
    source = teacher_folder(teacher, context)
    tuned = encoder.load(source)
    classes, tokenizer = tuned.labels(), tuned.tokenizer
    used = examples(context.data, teacher["task"], "train", chosen["train_texts"], chosen.get("least_words", 0))
    tokens = texts.tokenize(used, tokenizer, length, classes)
    exact = tuple(dict.fromkeys(i for i in (tokenizer.cls_token_id, tokenizer.sep_token_id) if i is not None))
    layers = plan.parse(chosen["plan"], tuned.layers, exact, length)
    compressions = initialise.make_compressions(chosen["initialise"], layers, tuned, tokens, context.device, length)
    begin, head = source, None
    if chosen["mode"] == "at-once":
        begin, head = context.models[teacher["model"]], classes
    student = encoder.load(begin, layers, compressions, length, chosen.get("extend", "tile"), head, chosen["seed"])
    fit(student, Windows(tuned), tokens, chosen, context)
    return student


def check_programs():
    """Raises UserError if the programs are missing that convert and measure a model after its training."""
    if not programs.available():
        raise UserError("the group labels needs the programs linformer and linformer-convert: set "
                        "LINFORMER_CPP_PROGRAMS to their folders.")


def convert(folder, work):
    """Converts a model and returns the path of its file."""
    file = work / "model.lnfr"
    programs.convert(folder, file)
    return file


def token_counts(tested, folder, length):
    """Returns the number of tokens of each text, after truncation to `length` tokens."""
    return texts.tokenize(tested, encoder.load(folder).tokenizer, length).lengths()
