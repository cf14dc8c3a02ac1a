"""Reads the command line of the programs for all engines."""
from __future__ import annotations

import argparse

from .work import TASKS, Settings, model_hash_of

#: The options that only some tasks take: the name of the argument, the flag, the tasks, and whether the option goes to
#: the task's class (True) or to the Annotator (False).
_TASK_OPTIONS = (
    ("normalize_embeddings", "--normalize", ("embed",), False),
    ("prompt_name", "--prompt", ("embed",), False),
    ("truncate_dim", "--dimensions", ("embed",), False),
    ("all_scores", "--all-scores", ("classify",), False),
    ("head", "--head", ("classify", "rerank", "tag"), True),
    ("max_tokens", "--max-tokens", tuple(TASKS), True),
    ("on_long", "--on-long", tuple(TASKS), True),
)


def parser(description, epilog, output=True):
    """Returns a parser for the options of all engines' programs. ``output`` says whether the program writes results."""
    result = argparse.ArgumentParser(description=description, epilog=epilog,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = result.add_argument
    add("--model", required=True, help="a .lnfr file, or a checkpoint, which is converted first")
    add("--dtype", choices=("f32", "bf16", "f16", "int8"), help="type of the weights of a converted checkpoint (f32)")
    add("--task", required=True, choices=sorted(TASKS))
    add("--input", required=True, help="a Parquet file, a folder of them, a Delta table or an Iceberg table")
    add("--format", default="auto", choices=("auto", "parquet", "delta", "iceberg"))
    if output:
        add("--output", required=True, help="the folder for the results")
    add("--field", default="text", help="the column with the texts (text)")
    add("--pair", help="the column with the second text of each pair")
    add("--prefix", default="", help="a text before the names of the added columns")
    add("--unit-rows", type=_positive, default=100_000,
        help="the most rows of a unit, which becomes one output file (100000)")
    add("--threads", type=_positive, default=1, help="threads of a worker, which needs as many cores (1)")
    add("--send-model", action="store_true",
        help="send the model file to the workers; otherwise each machine must have the file at the same path")
    add("--normalize", dest="normalize_embeddings", action="store_true", help="embed: scale each vector to length 1")
    add("--prompt", dest="prompt_name", metavar="NAME", help="embed: name of one of the model's prompts")
    add("--dimensions", dest="truncate_dim", metavar="N", type=_positive,
        help="embed: keep only the first N values of each vector")
    add("--head", help="classify, tag, rerank: name of the head")
    add("--all-scores", action="store_true", help="classify: add the scores of all classes, too")
    add("--max-tokens", type=_positive, help="the most tokens of a text (the model's limit)")
    add("--on-long", choices=("truncate", "window", "error"), help="what to do with texts that have more tokens")
    return result


def _positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} isn't positive")
    return value


def settings_of(arguments, model):
    """Returns the settings of the command line. Raises ValueError for an option that the task doesn't take."""
    of_task, of_call = [], []
    for name, flag, tasks, for_class in _TASK_OPTIONS:
        value = getattr(arguments, name)
        if value in (None, False):
            continue
        if arguments.task not in tasks:
            raise ValueError(f"--task {arguments.task} has no option {flag}")
        (of_task if for_class else of_call).append((name, value))
    return Settings(arguments.task, model_hash_of(model), arguments.field, arguments.pair, arguments.prefix,
                    tuple(of_task), tuple(of_call))
