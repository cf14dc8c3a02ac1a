"""python -m linearise: turns a Transformer encoder into a Linformer, trains it, and says whether it is worth using."""
import argparse
import shlex
import sys

EXAMPLES = """examples:
  python -m linearise all-MiniLM-L6-v2 --texts texts.txt --quick -o minilm-linformer
      a quick first try: 600 steps, and 64 compressed rows beside a window of 64 rows to each side
  python -m linearise bert-base-uncased --texts reviews.csv --labels stars --k 128 --window 64 -o reviews-linformer
      fine-tunes BERT on the labels, and makes a Linformer that agrees with it
  python -m linearise bge-small --texts documents.jsonl --length 4096 --plan '11*w64k64,full' -o bge-4096
      for texts of up to 4,096 tokens; the last layer keeps full attention

then: linformer-convert minilm-linformer -o model.lnfr

The output folder has the model, report.html and report.json. If a run is interrupted, the same command continues it.
The exit status is 0 after success, 1 after bad input or an interruption, and 2 after wrong usage."""


def number(kind, name, least, most):
    """Returns a function that reads a number between `least` and `most`. `kind` is int or float."""
    def check(text):
        try:
            value = kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a {name}") from None
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text} is not between {least} and {most}")
        return value
    return check


def whole(least, most):
    return number(int, "whole number", least, most)


def real(least, most):
    return number(float, "number", least, most)


def make_parser():
    parser = argparse.ArgumentParser(prog="python -m linearise", description=__doc__.split(": ", 1)[1].capitalize(),
                                     epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("model", metavar="MODEL", help="folder of a model as Hugging Face or sentence-transformers saves it")
    add("-o", "--output", required=True, metavar="FOLDER", help="folder for the student and the report")
    add("--texts", nargs="+", action="extend", required=True, metavar="FILE",
        help=".txt (one text per line), .jsonl, .csv or .tsv files, also compressed with gzip (.gz)")
    add("--test", nargs="+", action="extend", default=[], metavar="FILE",
        help="held-out texts; default: a tenth of --texts")
    add("--field", nargs="+", action="extend", default=[], metavar="NAME", dest="fields",
        help="field with the text, or two fields with the texts of a pair; default: text, sentence, review or content")
    add("--labels", metavar="FIELD", help="field with the label; the student then learns to classify")
    group = parser.add_argument_group("attention of the student's layers")
    add = group.add_argument
    add("--k", type=whole(0, 65536), default=64, help="number of compressed rows of keys and values (64)")
    add("--window", type=whole(0, 65536), default=64,
        help="how many rows to each side a row attends to directly; 0: no window (64)")
    add("--full", default="", metavar="LAYERS", help="layers that keep full attention, such as 0,last")
    add("--plan", default="", help="instead of --k, --window and --full: the attention of each layer, such as "
        "5*w64k64,full; a layer is w64k64, w64, k128 or full")
    add("--budget", default="", metavar="TIME", help="instead of --full: keep as many layers full as fit into a time "
        "for a text of --length tokens, such as 45ms, or 0.6 for a share of the teacher's time")
    add("--no-exact", dest="exact", action="store_false",
        help="don't keep exact keys and values for the first and the last token")
    add("--initialise", choices=("pool", "stride", "svd", "fit"), default="pool",
        help="how E and F get their first values (pool)")
    add("--separate", action="store_true", help="make E and F two matrices; default: E = F")
    add("--length", type=whole(8, 1 << 20), default=0, metavar="N",
        help="largest number of tokens of a text; default: the model's own limit. A larger number extends its table of "
        "positions")
    add("--extend", choices=("tile", "interpolate"), default="tile",
        help="how the table of positions is extended (tile)")
    group = parser.add_argument_group("training")
    add = group.add_argument
    add("--quick", action="store_true", help="600 steps, and shorter measurements")
    add("--steps", type=whole(1, 10**8), help="number of steps (2000)")
    add("--tokens", type=whole(64, 1 << 24), default=2048, help="tokens of a batch, padding included (2048)")
    add("--accumulate", type=whole(1, 4096), default=1, metavar="N", help="number of batches in a step (1)")
    add("--rate", type=real(1e-8, 1), help="largest learning rate of the weights (5e-5)")
    add("--matrix-rate", type=real(1e-8, 1), help="largest learning rate of E and F (1e-3)")
    add("--mixed", action="store_true", help="compute matrix products in bf16")
    add("--train-words", action="store_true", help="train the token embeddings, too; default with labels")
    add("--at-once", action="store_true",
        help="with labels: the student begins with the model's weights from before fine-tuning")
    add("--teacher-steps", type=whole(1, 10**8), default=0, metavar="N",
        help="steps of the teacher's fine-tuning; default: as --steps")
    add("--check-every", type=whole(1, 10**8), default=100, metavar="N", help="steps between checks (100)")
    add("--patience", type=whole(0, 10**6), default=0, metavar="N",
        help="end after N checks without progress; 0: train all steps (0)")
    add("--held-out", type=whole(2, 10**6), default=400, metavar="N", help="largest number of held-out texts (400)")
    add("--most-texts", type=whole(1, 10**9), default=0, metavar="N", help="read the first N texts only")
    add("--seed", type=whole(0, 2**31 - 1), default=0, help="seed of all random numbers (0)")
    group = parser.add_argument_group("running")
    add = group.add_argument
    add("--device", default="auto", help="cpu, cuda or cuda:1; auto: a GPU if there is one (auto)")
    add("--threads", type=whole(1, 4096), default=0, help="number of threads; default: all processors")
    add("--no-speed", dest="measure", action="store_false", help="don't measure speed")
    add("--json", action="store_true", help="print the report as JSON")
    add("--quiet", action="store_true", help="show no progress")
    return parser


def options_of(arguments, command):
    from linearise.job import Options
    from linearise.train import Schedule
    labelled = arguments.labels is not None
    schedule = Schedule(
        steps=arguments.steps or (600 if arguments.quick else 2000), tokens=arguments.tokens,
        accumulate=arguments.accumulate, rate=arguments.rate or 5e-5,
        matrix_rate=arguments.matrix_rate or 1e-3, mixed=arguments.mixed, cut=not labelled, dropout=labelled,
        train_words=arguments.train_words or labelled, check_every=arguments.check_every, patience=arguments.patience,
        decay=0.01 if labelled else 0.0, seed=arguments.seed)
    names = ("model", "output", "texts", "test", "fields", "labels", "k", "window", "full", "plan", "budget", "exact",
             "initialise", "separate", "length", "extend", "at_once", "teacher_steps", "held_out", "most_texts",
             "threads", "device", "measure", "quiet")
    return Options(**{name: getattr(arguments, name) for name in names}, seconds=1.0 if arguments.quick else 3.0,
                   command=command, schedule=schedule)


def main(arguments=None):
    given = sys.argv[1:] if arguments is None else arguments
    parsed = make_parser().parse_args(given)
    try:
        import safetensors  # noqa: F401
        import torch  # noqa: F401
        import transformers
        if int(transformers.__version__.split(".")[0]) < 5:
            raise ImportError(f"transformers {transformers.__version__} is too old: 5.0 or newer is needed")
    except ImportError as error:
        print(f"linearise: {error}. Install the libraries that requirements.txt lists.", file=sys.stderr)
        return 1
    from linearise.errors import UserError
    from linearise.job import Job
    from linearise.train import Stopped
    try:
        job = Job(options_of(parsed, shlex.join(["python", "-m", "linearise", *given])))
        made = job.run()
    except UserError as error:
        print(f"\r\x1b[Klinearise: {error}" if sys.stderr.isatty() else f"linearise: {error}", file=sys.stderr)
        return 1
    except (Stopped, KeyboardInterrupt):
        print("\nlinearise: interrupted. The same command goes on from the last checkpoint.", file=sys.stderr)
        return 1
    if parsed.json:
        import json
        print(json.dumps(made, indent=2))
    else:
        print(made["verdict"])
        print(f"The student is in {parsed.output}, the report in {parsed.output}/report.html. Next: "
              f"linformer-convert {shlex.quote(parsed.output)} -o model.lnfr")
    return 0


if __name__ == "__main__":
    sys.exit(main())
