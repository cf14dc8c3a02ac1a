"""Chooses a plan that fits into a time. As many layers keep full attention as the time allows. The layers whose change
would alter the last hidden states most are the first to keep it."""
import pathlib
import re
import tempfile

import torch

from linearise import programs
from linearise.errors import UserError
from linearise.evaluate import BATCH
from linearise.train import in_batches

SECONDS = 1.0  # The length of each measurement.


def parse(text):
    """Reads a time such as `45ms`, or a share of the teacher's time such as `0.6`. Returns the number and whether it is
    a time."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms)?", text)
    if not match or not float(match.group(1)) > 0 or (not match.group(2) and float(match.group(1)) > 1):
        raise UserError(f"--budget {text!r} is neither a time such as 45ms nor a share of the teacher's time such as "
                        "0.6.")
    return float(match.group(1)), bool(match.group(2))


def choose(budget, every, teacher, make_student, tokens, device, length, threads):
    """Returns a plan, and the measurements that it was chosen by. `every` is the plan in which each layer is changed.
    make_student(plan) returns an untrained Encoder with a plan."""
    value, is_time = parse(budget)
    layers, changed_layer = len(every), every[0]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        times = []
        for name, encoder in (("full", make_student([None] * layers)), ("changed", make_student(every))):
            encoder.save(folder / name, length)
            programs.convert(folder / name, folder / f"{name}.lnfr")
            times.append(programs.bench(folder / f"{name}.lnfr", length, threads, SECONDS)["ms"])
    full, changed = times
    allowed = value if is_time else value * full
    each = (full - changed) / layers
    if allowed < changed:
        raise UserError(f"no plan with {changed_layer.kind()} takes only {allowed:.1f} ms at {length} tokens: with all "
                        f"layers changed it is {changed:.1f} ms, with none {full:.1f} ms. Give a larger --budget, "
                        "or smaller --k and --window.")
    stay = layers if each <= 0 else min(layers, int((allowed - changed) / each))
    if stay == layers:
        raise UserError(f"the budget needs no change: with all layers full a text of {length} tokens takes "
                        f"{full:.1f} ms, and {allowed:.1f} ms are allowed. Give a smaller --budget, or leave it out.")
    damage = damages(make_student(every), teacher, tokens, device)
    kept = sorted(range(layers), key=lambda i: -damage[i])[:stay]
    plan = [None if i in kept else changed_layer for i in range(layers)]
    return plan, {"length": length, "allowed_ms": allowed, "full_ms": full, "changed_ms": changed, "damage": damage}


@torch.no_grad()
def damages(student, teacher, tokens, device, most=24):
    """Returns for each layer the squared error of the last hidden states, relative to the teacher's, if only this layer
    is changed."""
    order = sorted(range(len(tokens)), key=lambda i: -len(tokens.ids[i]))[:most]
    tokens = tokens.part(order)
    made = []
    plan = student.plan
    for i in range(student.layers):
        student.attentions.plan = [layer if j == i else None for j, layer in enumerate(plan)]
        total = 0.0
        for chosen in in_batches(tokens, BATCH):
            ids, mask, types = tokens.batch(chosen, device)
            own, other = student(ids, mask, types), teacher(ids, mask, types)
            rows = mask[:, :, None]
            total += float(((own.hidden[-1] - other.hidden[-1]) * rows).square().sum() /
                           (other.hidden[-1] * rows).square().sum()) * len(chosen)
        made.append(total / len(tokens))
    student.attentions.plan = plan
    return made
