"""Lists all runs in their order, and performs the command's options."""
import json
import pathlib
import time

from linearise.errors import UserError
from linearise.progress import Progress, duration
from study import controls, labels, pretraining, tables, theorems
from study.runs import Context, execute, is_done

GROUPS = {"controls": controls, "labels": labels, "paper": pretraining, "theorems": theorems}
# The runs of --small, one for each table. Together they take less than 20 minutes.
SMALL = ("controls/start-w64k64-pool", "labels/rte-teacher-seed0", "paper/small", "theorems/minilm-small")


def all_runs():
    return [run for group in GROUPS.values() for run in group.runs()]


def make_context(options):
    models = {}
    for given in options.model:
        name, equals, folder = given.partition("=")
        if not equals or not pathlib.Path(folder).is_dir():
            raise UserError(f"--model {given!r} is not NAME=FOLDER with an existing folder.")
        models[name] = pathlib.Path(folder)
    return Context(pathlib.Path(options.data), pathlib.Path(options.work), pathlib.Path(options.results), models,
                   Progress(options.quiet))


def choose(options, runs):
    """Returns the wanted runs. Each comes after the runs that it needs."""
    by_name = {f"{run.group}/{run.name}": run for run in runs}
    wanted = list(options.run) + (list(SMALL) if options.small else [])
    for name in options.group:
        if name not in GROUPS:
            raise UserError(f"there is no group {name!r}; the groups are {', '.join(GROUPS)}.")
        wanted += [f"{run.group}/{run.name}" for run in runs if run.group == name]
    chosen = []

    def add(name):
        if name not in by_name:
            raise UserError(f"there is no run {name!r}: --list shows all runs.")
        run = by_name[name]
        for need in run.needs:
            add(f"{run.group}/{need}")
        if run not in chosen:
            chosen.append(run)
    for name in wanted:
        add(name)
    return chosen


def perform(options, parser):
    context, runs = make_context(options), all_runs()
    if options.list:
        for run in runs:
            print(f"{'done' if is_done(run, context) else 'open':<5} {run.group}/{run.name}")
        return 0
    if options.compare:
        return compare(pathlib.Path(options.compare), context, runs)
    chosen = choose(options, runs)
    if not chosen and not options.tables:
        parser.error("give --group, --run, --small, --tables, --compare or --list")
    for number, run in enumerate(chosen, 1):
        again = f"{run.group}/{run.name}" in options.run
        if is_done(run, context) and not again:
            continue
        model = run.settings.get("model")
        if model and model not in context.models:
            raise UserError(f"{run.group}/{run.name} needs the model {model}: give --model {model}=FOLDER.")
        context.progress.stage(f"{number}/{len(chosen)}")
        made = execute(run, context, options.threads)
        context.progress.finish()
        print(f"{time.strftime('%H:%M')} {run.group}/{run.name}: {duration(made['seconds'])}", flush=True)
    if options.tables:
        tables.write(context)
    return 0


def compare(folder, context, runs):
    """Prints for each result in `folder` whether its numbers equal those of the same run in the tree. Returns 1 if one
    differs."""
    differ = 0
    found = [run for run in runs if (folder / run.group / f"{run.name}.json").exists()]
    if not found:
        raise UserError(f"{folder} has no results: make them with --small --results {folder}.")
    for run in found:
        other = json.loads((folder / run.group / f"{run.name}.json").read_text(encoding="utf-8"))
        own = context.result(run.group, run.name)
        same = own is not None and own["measured"] == other["measured"]
        differ += not same
        print(f"{'same' if same else 'differs' if own else 'not in the tree'}: {run.group}/{run.name}")
    return 1 if differ else 0
