"""Writes tests/data/golden/linearised: small students of apps/research/linearise with random weights, and their hidden
states and logits as PyTorch computes them in float64.

    python tests/linearise/goldens.py
"""
import json
import pathlib
import shutil
import sys
import tempfile

import numpy
import torch

import conftest
from linearise import encoder, initialise
from linearise.plan import parse

N = 64
KINDS = {"pure": "k9", "window": "w7", "beside": "w7k9", "mixed": "w7k9,full,k12"}
CASES = [("bert", kind) for kind in KINDS] + [("roberta", "beside"), ("distilbert", "mixed"), ("albert", "beside"),
                                              ("electra", "mixed"), ("mpnet", "window"), ("mpnet", "beside"),
                                              ("roformer", "mixed")]
TEXTS = {"n64": (1, 64), "n33": (1, 33), "n9": (2, 9), "n8": (2, 8)}  # The text n8 fits into a window of 7.


def student_of(folder, kind):
    teacher = encoder.load(folder)
    plan = parse(KINDS[kind], 3, (2, 3), N)
    torch.manual_seed(4)
    made = initialise.make_compressions("pool", plan, teacher, None, torch.device("cpu"), N, kind != "beside")
    for compression in made.values():
        for parameter in compression.parameters():
            parameter.data += torch.randn_like(parameter) * 0.1
    return encoder.load(folder, plan, made)


@torch.no_grad()
def write(family, kind, output):
    with tempfile.TemporaryDirectory() as temporary:
        temporary = pathlib.Path(temporary)
        head = ["a", "b", "c"] if family == "bert" else None
        student = student_of(conftest.make_model(temporary / "teacher", family, head), kind)
        student.save(temporary / "student", N)
        output.mkdir(parents=True)
        shutil.copy(temporary / "student" / "model.safetensors", output / "checkpoint.safetensors")
        config = json.loads((temporary / "student" / "config.json").read_text())
    (output / "meta.json").write_text(json.dumps({"family": "linearised", "case": output.name, "config": config,
                                                  "what": f"{family}, {KINDS[kind]}"}, indent=1) + "\n")
    arrays, wide = {}, student.double()
    for name, (count, n) in TEXTS.items():
        torch.manual_seed(n)
        ids = torch.randint(5, conftest.SIZES["vocab_size"], (count, n))
        ids[:, 0], ids[:, -1] = 2, 3
        made = wide(ids, torch.ones_like(ids))
        arrays[f"{name}.tokens"] = ids.numpy()
        arrays[f"{name}.features.f64"] = made.hidden[-1].numpy()
        if made.logits is not None:
            arrays[f"{name}.logits.f64"] = made.logits.numpy()
    numpy.savez(output / "io.npz", **arrays)


def main():
    conftest.SIZES.update(hidden_size=8, intermediate_size=12, vocab_size=24)
    del conftest.WORDS[19:]
    output = conftest.ROOT / "tests" / "data" / "golden" / "linearised"
    shutil.rmtree(output, ignore_errors=True)
    for family, kind in CASES:
        write(family, kind, output / f"{family}_{kind}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
