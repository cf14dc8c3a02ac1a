"""Compares linformer with Hugging Face's tokenizers on random compositions of tokenizer.json. The ids, tokens and
offsets of every text must be equal, or linformer must refuse the file. A composition depends on the seed and its number
alone.

    python3 compare_test.py LINFORMER [--seed 1] [--first 0] [--compositions 200] [--texts 24] [--keep FOLDER]
                            [--reasons] [--fetch FOLDER]

--fetch installs the package from PyPI into that folder if Python lacks it or has another version. If that fails, the
script prints `skipped` and ends with exit status 77.
"""
import argparse
import collections
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tempfile

import compositions

VERSION = "0.23.3"  # The version in third_party/README.md. Other versions read some compositions differently.
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "tokenizers")


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def fetch(folder):
    if os.path.isdir(os.path.join(folder, f"tokenizers-{VERSION}.dist-info")):
        return
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check",
               "--only-binary=:all:", "--upgrade", "--target", folder, f"tokenizers=={VERSION}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        skip(f"tokenizers {VERSION} can't be fetched: {error}")
    if done.returncode != 0:
        skip(f"tokenizers {VERSION} can't be fetched: " + (done.stderr.strip().splitlines() or ["pip failed"])[-1])


def installed_version():
    try:
        return importlib.metadata.version("tokenizers")
    except importlib.metadata.PackageNotFoundError:
        return None


def load_reference(folder):
    if installed_version() != VERSION:
        if folder is None:
            skip(f"Python lacks tokenizers {VERSION}: pip install tokenizers=={VERSION}, or give --fetch")
        fetch(folder)
        sys.path.insert(0, folder)
    try:
        import tokenizers
    except ImportError as error:
        skip(f"tokenizers {VERSION} can't be imported: {error}")
    return tokenizers.Tokenizer


class Quiet:
    """Hides what a Rust library prints when it panics."""

    def __enter__(self):
        self.saved = os.dup(2)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        os.close(null)

    def __exit__(self, *_):
        os.dup2(self.saved, 2)
        os.close(self.saved)


def attempt(action):
    """Returns the action's result and None, or None and the error. A panic is a BaseException, but no Exception."""
    try:
        with Quiet():
            return action(), None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # pylint: disable=broad-except
        return None, str(error)


def make_options(chance):
    options = {"special": chance.random() < 0.7}
    if chance.random() < 0.2:
        options.update(max_length=chance.choice([9, 12]), side=chance.choice(["head", "tail"]))
    return options


def our_answers(program, path, records, options, folder):
    texts = os.path.join(folder, "texts.jsonl")
    with open(texts, "w", encoding="ascii") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
    command = [program, "tokenize", "--tokenizer", path, "--input", texts]
    if not options["special"]:
        command.append("--no-special")
    if "max_length" in options:
        command += ["--max-tokens", str(options["max_length"]), "--side", options["side"]]
    run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    return run.returncode, [json.loads(line) for line in run.stdout.splitlines()], run.stderr.decode()


def expected(tokenizer, record, options):
    encoding = tokenizer.encode(record["text"], record.get("pair"), add_special_tokens=options["special"])
    return {"ids": encoding.ids, "tokens": encoding.tokens, "offsets": [list(pair) for pair in encoding.offsets]}


class Comparison:
    def __init__(self, arguments):
        self.arguments = arguments
        self.tokenizer = load_reference(arguments.fetch)
        with open(os.path.join(DATA, "unigram_json", "tokenizer.json"), encoding="utf-8") as file:
            self.charsmap = self.find_charsmap(json.load(file)["normalizer"])
        self.counts = collections.Counter()
        self.reasons = collections.Counter()
        self.compared = ()
        self.differing = []

    @staticmethod
    def find_charsmap(normalizer):
        parts = normalizer.get("normalizers", [normalizer])
        return next(part["precompiled_charsmap"] for part in parts if part["type"] == "Precompiled")

    def run(self):
        with tempfile.TemporaryDirectory() as folder:
            for number in range(self.arguments.first, self.arguments.first + self.arguments.compositions):
                self.compare(number, folder)

    def compare(self, number, folder):
        chance = compositions.chance_of(self.arguments.seed, number)
        document = compositions.make_document(chance, self.charsmap)
        options = make_options(chance)
        records = []
        for _ in range(self.arguments.texts):
            records.append({"text": compositions.make_text(chance)})
            if chance.random() < 0.2:
                records[-1]["pair"] = compositions.make_text(chance)
        path = os.path.join(self.arguments.keep or folder, f"{self.arguments.seed}_{number}.json")
        with open(path, "w", encoding="ascii") as file:
            json.dump(document, file)
        self.compared = ("ids", "tokens") if compositions.leaves_out_bytes(document) else ("ids", "tokens", "offsets")
        code, answers, said = our_answers(self.arguments.program, path, records, options, folder)
        same = self.judge(number, path, records, options, code, answers, said)
        if same or not self.arguments.keep:
            os.remove(path)

    def judge(self, number, path, records, options, code, answers, said):
        """Returns whether linformer gave the reference's answers, or refused the composition with a proper error."""
        if code != 0 and not answers:
            if code != 1 or said.count("\n") != 1 or path not in said:
                return self.report(number, f"exit status {code}, said {said!r}")
            self.counts["refused"] += 1
            reason = re.sub(r"\d+", "N", said.replace(path, "FILE").strip())
            self.reasons[reason[:120]] += 1
            return True
        reference, error = attempt(lambda: self.tokenizer.from_file(path))
        if reference is None:
            self.counts["refused by the reference alone"] += 1
            self.reasons["reference: " + error[:100]] += 1
            return True
        if "max_length" in options:
            reference.enable_truncation(options["max_length"],
                                        direction="left" if options["side"] == "tail" else "right")
        if len(answers) != len(records):
            return self.report(number, f"{len(answers)} answers to {len(records)} texts, said {said!r}")
        for record, answer in zip(records, answers):
            wanted, error = attempt(lambda record=record: expected(reference, record, options))
            if wanted is None or "error" in answer:
                self.counts["texts refused"] += 1
                self.reasons["text: " + (answer.get("error") or "reference: " + error)[:100]] += 1
                continue
            self.counts["texts"] += 1
            wrong = [name for name in self.compared if answer[name] != wanted[name]]
            if wrong:
                shown = {name: {"ours": answer[name], "theirs": wanted[name]} for name in wrong}
                return self.report(number, f"{json.dumps(record)} {json.dumps(options)}: {json.dumps(shown)}")
        self.counts["equal"] += 1
        return True

    def report(self, number, what):
        self.differing.append(number)
        print(f"composition {number}: {what}", flush=True)
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--compositions", type=int, default=200)
    parser.add_argument("--texts", type=int, default=24)
    parser.add_argument("--keep", help="a folder for the files of compositions that differ")
    parser.add_argument("--fetch", help="a folder to install the package in if Python lacks it")
    parser.add_argument("--reasons", action="store_true", help="print why compositions were refused")
    arguments = parser.parse_args()
    comparison = Comparison(arguments)
    comparison.run()
    if arguments.reasons:
        for reason, count in comparison.reasons.most_common():
            print(f"{count:6d} {reason}")
    print(f"{arguments.compositions} compositions: " +
          ", ".join(f"{count} {name}" for name, count in sorted(comparison.counts.items())) +
          f", {len(comparison.differing)} differ")
    sys.exit(1 if comparison.differing else 0)


if __name__ == "__main__":
    main()
