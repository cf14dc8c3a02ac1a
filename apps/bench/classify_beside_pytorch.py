"""Compares a classifier trained by apps/train in PyTorch with the converted model, on a labelled file.

    python3 apps/bench/classify_beside_pytorch.py build/release TEST.jsonl.gz
    python3 apps/bench/classify_beside_pytorch.py build/release TEST.jsonl.gz --model FOLDER --text-field body

FOLDER is what `train.py --out` wrote (default: apps/sample). PyTorch's logits and accuracy come from `train.py --eval`;
ours from `linformer encode --what logits` and `linformer classify --eval` on the checkpoint converted with weights of
f32, bf16 and f16. Prints the accuracies, how many labels differ and the largest difference of a logit; exit status 1
where a label of the f32 model differs, or a logit of it by more than 1e-4.
"""
import argparse
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

APPS = pathlib.Path(__file__).resolve().parent.parent


def run(*command):
    return subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="build folder")
    parser.add_argument("test", type=pathlib.Path, help="labelled records, .jsonl or .jsonl.gz")
    parser.add_argument("--model", type=pathlib.Path, default=APPS / "sample",
                        help="folder with checkpoint, vocabulary and labels")
    parser.add_argument("--text-field", default="text")
    parser.add_argument("--label-field", default="label")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()

    labels = (arguments.model / "labels.txt").read_text().split("\n")
    labels = [label for label in labels if label]
    opened = gzip.open if arguments.test.suffix == ".gz" else open
    with opened(arguments.test, "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        # Labels by name, as the model says them.
        named = folder / "test.jsonl"
        with open(named, "w", encoding="utf-8") as file:
            for record in records:
                label = record[arguments.label_field]
                label = labels[label] if isinstance(label, int) else label
                file.write(json.dumps({"text": record[arguments.text_field], "label": label}) + "\n")
        theirs = json.loads(run(sys.executable, APPS / "train/train.py", "--eval", named, "--out", arguments.model,
                                "--logits", folder / "theirs.npy", "--threads", arguments.threads, "--json"))["eval"]
        expected = np.load(folder / "theirs.npy")
        print(f"{len(records):,} records; PyTorch: accuracy {theirs['accuracy']:.4f}")
        print(f"{'weights':8} {'accuracy':>9} {'other labels':>13} {'largest difference of a logit':>30}")
        good = True
        for dtype in ("f32", "bf16", "f16"):
            model = folder / f"{dtype}.lnfr"
            run(arguments.build / "converter/linformer-convert", arguments.model, "-o", model, "--dtype", dtype)
            linformer = arguments.build / "apps/cli/linformer"
            inputs = ("--input", named, "--threads", arguments.threads)
            run(linformer, "encode", model, *inputs, "--what", "logits", "-o", folder / "ours.npy")
            ours = np.load(folder / "ours.npy")
            report = json.loads(run(linformer, "classify", model, *inputs, "--eval", "label", "--json"))["evaluation"]
            other = int((ours.argmax(1) != expected.argmax(1)).sum())
            difference = float(np.abs(ours - expected).max())
            print(f"{dtype:8} {report['accuracy']:9.4f} {other:13} {difference:30.2e}")
            if dtype == "f32":
                good = other == 0 and difference <= 1e-4 and report["accuracy"] == theirs["accuracy"]
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
