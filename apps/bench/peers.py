#!/usr/bin/env python3
"""Times the same weights in linformer and in other engines, which take turns in one run, and compares their outputs."""
import argparse
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from peers import environment
from peers.common import UserError, progress

APPS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ENGINES = ("pytorch", "onnxruntime", "openvino", "linformer")
PRECISIONS = ("f32", "bf16", "int8")
MODELS = ("modernbert", "mpnet")

EXAMPLES = """examples:
  peers.py setup                                                    installs the other engines in an environment
  peers.py encode --linformer build/release --n 512,4096 --k 128    RoBERTa-base's size, Linformer
  peers.py encode --linformer build/release --n 512 --k 0           RoBERTa-base's size, full attention
  peers.py models --linformer build/release --n 512                 ModernBERT's and MPNet's base sizes
  peers.py growth --linformer build/release --n 512,1024,2048,4096  how a layer's time grows, also Reformer's
  peers.py sentences --linformer build/release --model random --vocabulary vocab.txt --texts sentences.txt
  peers.py classify --linformer build/release --texts reviews.jsonl

peers.py COMMAND --help shows the options of a command. The first command that needs the environment makes it.
Exit status: 0 measured, 1 nothing could be measured or an answer differs, 2 the usage or an input is wrong."""


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise UserError(f"{message} (--help shows examples)")


def number(least, most):
    def check(text):
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number") from None
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{value} is not in {least} .. {most}")
        return value
    return check


def seconds(text):
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from None
    if not 0 <= value <= 3600:
        raise argparse.ArgumentTypeError(f"{text} is not in 0 .. 3600 seconds")
    return value


def numbers(least, most):
    check = number(least, most)
    return lambda text: sorted({check(part) for part in text.split(",")})


def some_of(known):
    def check(text):
        chosen = text.split(",")
        for name in chosen:
            if name not in known:
                raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(known)}")
        return [name for name in known if name in chosen]
    return check


def parse(arguments):
    parser = Parser(prog="peers.py", description=__doc__, epilog=EXAMPLES, allow_abbrev=False,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)

    def command(name, text, examples):
        made = commands.add_parser(name, help=text, description=text + ".", epilog="examples:\n" + examples,
                                   allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter)
        made.add_argument("--environment", metavar="FOLDER", default=environment.default_folder(),
                          help="virtual environment with the other engines (%(default)s)")
        return made

    def measured(made, rounds, engines=ENGINES):
        made.add_argument("--linformer", metavar="BUILD", required=True,
                          help="build folder with linformer and linformer-convert, such as build/release")
        made.add_argument("--threads", type=number(1, 256), default=2, metavar="T", help="threads of every engine (2)")
        made.add_argument("--rounds", type=number(1, 1000), default=rounds, metavar="R",
                          help=f"turns of each engine ({rounds})")
        made.add_argument("--engines", type=some_of(engines), default=list(engines), metavar="A,B",
                          help="some of " + ", ".join(engines))
        made.add_argument("--json", metavar="FILE",
                          help="file for all results; - writes them to standard output in place of the tables")
        made.add_argument("--scratch", metavar="FOLDER",
                          help="folder for the models, which are removed after the run (the system's temporary folder)")
        return made

    def precisions(made, known=PRECISIONS):
        made.add_argument("--precisions", type=some_of(known), default=list(PRECISIONS), metavar="A,B",
                          help="some of " + ", ".join(known) + "; an engine skips precisions that it doesn't have")
        made.add_argument("--calibrations", type=number(1, 300), default=4, metavar="N",
                          help="inputs that OpenVINO's int8 is calibrated with (4)")

    command("setup", "Installs PyTorch, ONNX Runtime, OpenVINO and the packages that they need",
            "  peers.py setup\n  peers.py setup --environment /var/tmp/peers")

    made = measured(command(
        "encode", "Times one text in an encoder of RoBERTa-base's size with random weights",
        "  peers.py encode --linformer build/release --n 512,4096 --k 128 --threads 2 --json encode.json\n"
        "  peers.py encode --linformer build/release --n 512 --k 0 --engines openvino,linformer --precisions bf16"), 5)
    made.add_argument("--n", type=numbers(1, 1 << 16), default=[512], metavar="N,..", help="tokens of the text (512)")
    made.add_argument("--k", type=number(0, 1 << 14), default=128, metavar="K",
                      help="rows that keys and values are compressed to; 0 for full attention (128)")
    made.add_argument("--seconds", type=seconds, default=1.0, metavar="S", help="least length of a turn (1)")
    precisions(made)

    made = measured(command(
        "models", "Times one text in a model of transformers with random weights",
        "  peers.py models --linformer build/release --models modernbert --n 512,8192 --threads 2\n"
        "  peers.py models --linformer build/release --n 128 --engines openvino,linformer --precisions bf16"), 3)
    made.add_argument("--models", type=some_of(MODELS), default=list(MODELS), metavar="A,B",
                      help="some of " + ", ".join(MODELS) + ", of their base size")
    made.add_argument("--n", type=numbers(1, 8192), default=[512], metavar="N,..", help="tokens of the text (512)")
    made.add_argument("--seconds", type=seconds, default=1.0, metavar="S", help="least length of a turn (1)")
    precisions(made)

    made = measured(command(
        "growth", "Measures how the time of a layer grows with the text's length, also with Reformer's LSH attention",
        "  peers.py growth --linformer build/release --n 512,1024,2048,4096 --threads 2"), 3,
        ("reformer", "linformer"))
    made.add_argument("--n", type=numbers(64, 1 << 16), default=[512, 1024, 2048, 4096], metavar="N,..",
                      help="tokens, multiples of 64 (512,1024,2048,4096)")
    made.add_argument("--k", type=number(1, 1 << 14), default=128, metavar="K",
                      help="rows that the Linformer's keys and values are compressed to (128)")
    made.add_argument("--hashes", type=number(1, 64), default=4, metavar="H", help="rounds of Reformer's hashing (4)")
    made.add_argument("--layers", type=number(1, 24), default=2, metavar="L",
                      help="layers of every model; times are divided by their number (2)")
    made.add_argument("--seconds", type=seconds, default=1.0, metavar="S", help="least length of a turn (1)")

    made = measured(command(
        "sentences", "Measures the sentences per second of a sentence-embedding BERT",
        "  peers.py sentences --linformer build/release --model all-MiniLM-L6-v2/ --texts sentences.txt\n"
        "  peers.py sentences --linformer build/release --model random --vocabulary vocab.txt --texts sentences.txt"),
        3)
    made.add_argument("--model", required=True, metavar="FOLDER",
                      help="BERT of sentence-transformers with mean pooling and normalisation, or random for random "
                           "weights in MiniLM's shape")
    made.add_argument("--vocabulary", metavar="FILE",
                      help="for --model random: a vocab.txt of BERT (lower case), or a folder that has one")
    made.add_argument("--texts", required=True, metavar="FILE", help="file with a text on each line")
    made.add_argument("--count", type=number(1, 10 ** 7), metavar="N", help="use only the first N texts")
    made.add_argument("--batch", type=number(1, 4096), default=32, metavar="B",
                      help="texts in a batch of the other engines (32)")
    precisions(made)

    made = measured(command(
        "classify", "Measures the reviews per second of a classifier that apps/train made, and compares the labels",
        "  peers.py classify --linformer build/release --texts reviews.jsonl\n"
        "  peers.py classify --linformer build/release --texts test.jsonl.gz --checkpoint model/ --engines "
        "pytorch,linformer"), 3)
    made.add_argument("--checkpoint", default=os.path.join(APPS, "sample"), metavar="FOLDER",
                      help="folder that train.py --out wrote (apps/sample)")
    made.add_argument("--texts", required=True, metavar="FILE", help="labelled records, .jsonl or .jsonl.gz")
    made.add_argument("--field", dest="text_field", default="text", metavar="NAME", help="field with the text (text)")
    made.add_argument("--label", dest="label_field", default="label", metavar="NAME",
                      help="field with the label (label); records may lack it")
    made.add_argument("--count", type=number(1, 10 ** 7), metavar="N", help="use only the first N records")
    made.add_argument("--batch", type=number(1, 4096), default=32, metavar="B",
                      help="texts in a batch of the other engines (32)")
    precisions(made, ("f32", "bf16", "f16", "int8"))

    options = parser.parse_args(arguments)
    if options.command is None:
        raise UserError("give a command: setup, encode, models, growth, sentences or classify (--help shows examples)")
    return options


def leave_out_missing(options):
    """Names the engines whose packages couldn't be installed, and removes these engines from the options."""
    missing = environment.missing_packages()
    options.missing = missing
    options.found = [engine for engine, packages in environment.NEEDS.items()
                     if not any(package in missing for package in packages)]
    for engine in [engine for engine in options.engines if engine in environment.NEEDS]:
        if engine not in options.found:
            options.engines.remove(engine)
            print(f"peers.py: {engine} is left out: the environment doesn't have it (peers.py setup shows the reason)",
                  file=sys.stderr)
    if options.scratch and not os.path.isdir(options.scratch):
        raise UserError(f"--scratch {options.scratch} is no folder")
    # The folder of --json is checked before the measurements, so that their results aren't lost.
    if options.json and options.json != "-" and not os.path.isdir(os.path.dirname(os.path.abspath(options.json))):
        raise UserError(f"--json {options.json}: the folder of this file doesn't exist")


def main():
    try:
        options = parse(sys.argv[1:])
        if options.command == "setup":
            environment.setup(options.environment)
            return 0
        environment.enter(options.environment, sys.argv)
        leave_out_missing(options)
        from importlib import import_module
        return import_module("peers." + options.command).run(options)
    except UserError as error:
        progress.clear()
        print(f"peers.py: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        progress.clear()
        return 130
    except BrokenPipeError:
        return 0
    except OSError as error:  # The most frequent reason is a full disk.
        progress.clear()
        name = f"{error.filename}: " if error.filename else ""
        print(f"peers.py: {name}{error.strerror or error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
