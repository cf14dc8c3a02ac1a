#!/usr/bin/env python3
"""Trains a small Linformer text classifier and saves it as a fairseq checkpoint."""

import argparse
import json
import os
import shlex
import sys
import time

from config import SHARING_MODES, ModelConfig, UserError, option

MOST_THREADS = 256
MOST_REPEATS = 100
# The options that --init takes from another model, and their defaults without --init. Values for None are chosen later.
STARTS = {
    "label_names": None, "vocab_size": 8000, "tokenizer": None, "max_tokens": 512, "sharing": "layer_kv",
    "k": None, "d_model": 128, "layers": 2, "heads": 4, "ffn": None, "compress_init": "strides",
    "embed_init": "cooccurrence"}

EXAMPLES = """examples:
  # learn a vocabulary and a classifier, and hold out a tenth of the records for validation
  train.py --train reviews.jsonl.gz --out model

  # sentence pairs from a table, one projection for the whole model, stored in half precision
  train.py --train pairs.tsv --valid dev.tsv --field sentence1 --pair sentence2 \\
           --sharing layer_kv --max-tokens 256 --k 64 --half --out pairs-model

  # continue with a saved model, on reviews and half of the sentences in each epoch
  train.py --init model --train reviews.jsonl.gz --train sentences.jsonl --train-shares 1,0.5 --out second

  # accuracy of the saved model, and its logits in file order
  train.py --eval test.jsonl --out model --logits logits.npy --json

OUT receives checkpoint.pt, vocab.json, merges.txt and labels.txt.
Exit status: 0 done, 2 bad input or usage, 130 interrupted (the best checkpoint so far is kept)."""


class OneLineParser(argparse.ArgumentParser):
    def error(self, message):
        raise UserError(message)


def parse_arguments(argv):
    parser = OneLineParser(
        prog="train.py", description=__doc__, epilog=EXAMPLES, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter)

    data = parser.add_argument_group("data (.jsonl, .csv, .tsv or fastText's .txt, each also .gz)")
    data.add_argument("--train", metavar="FILE", action="append",
                      help="labelled records to learn from; may be repeated")
    data.add_argument("--train-shares", type=shares, metavar="S,S,...",
                      help="share of each --train file's records that are drawn at random in each epoch; 2.5 "
                           "takes all records twice and half of them a third time (1 for each file)")
    data.add_argument("--valid", metavar="FILE", action="append",
                      help="labelled records that select the best epoch; may be repeated: the mean of the "
                           "files' accuracies counts")
    data.add_argument("--valid-split", type=share, default=0.1, metavar="SHARE",
                      help="without --valid: share of the training records to hold out (0.1)")
    data.add_argument("--eval", metavar="FILE", help="print the accuracy of the checkpoint in OUT on FILE")
    data.add_argument("--logits", metavar="OUT.npy", help="with --eval: write float32 logits in file order")
    data.add_argument("--field", default="text", metavar="NAME", help="field with the text (text)")
    data.add_argument("--pair", metavar="NAME", help="field with the second text of a pair")
    data.add_argument("--label", default="label", metavar="NAME", help="field with the label (label)")
    data.add_argument("--label-names", metavar="A,B,...",
                      help="names to store for the labels, in the order of the sorted labels")
    data.add_argument("--out", required=True, metavar="DIR", help="folder of the saved model, or for the new one")

    text = parser.add_argument_group("tokens")
    text.add_argument("--vocab-size", type=int, metavar="V",
                      help="byte-level BPE tokens to learn (8000)")
    text.add_argument("--tokenizer", metavar="DIR", help="use the vocab.json and merges.txt of DIR instead")
    text.add_argument("--max-tokens", type=int, metavar="N",
                      help="longest text, special tokens included (512); longer texts are truncated")

    model = parser.add_argument_group("model")
    model.add_argument("--init", metavar="DIR",
                       help="start from the model in DIR, with its labels, tokens and sizes")
    model.add_argument("--sharing", choices=SHARING_MODES,
                       help="projections shared by keys and values, by layers, or both (layer_kv)")
    model.add_argument("--k", type=int, metavar="K", help="compressed length (N / 4)")
    model.add_argument("--d-model", type=int, metavar="D", help="width of the model (128)")
    model.add_argument("--layers", type=int, metavar="L", help="number of layers (2)")
    model.add_argument("--heads", type=int, metavar="H", help="number of attention heads (4)")
    model.add_argument("--ffn", type=int, metavar="F", help="width of the feed-forward networks (4 D)")
    model.add_argument("--compress-init", choices=("blocks", "strides", "random"),
                       help="first values of the projections: means of neighbouring tokens, means of "
                            "every k-th token, or noise (strides)")
    model.add_argument("--embed-init", choices=("cooccurrence", "random"),
                       help="first token vectors: learned from which tokens share a text, or noise "
                            "(cooccurrence)")
    model.add_argument("--half", action="store_true", help="store half precision")

    fit = parser.add_argument_group("training")
    fit.add_argument("--epochs", type=int, default=20, metavar="E", help="number of epochs (20)")
    fit.add_argument("--patience", type=int, default=5, metavar="E",
                     help="stop after this many epochs without improvement (5)")
    fit.add_argument("--lr", type=positive, default=1e-3, metavar="RATE", help="largest learning rate (0.001)")
    fit.add_argument("--warmup", type=share, default=0.06, metavar="SHARE",
                     help="share of the run in which the learning rate rises (0.06)")
    fit.add_argument("--batch-tokens", type=int, default=8192, metavar="T",
                     help="tokens in a batch, padding included (8192)")
    fit.add_argument("--batch-texts", type=int, default=None, metavar="T",
                     help="texts in a training batch at most (no limit)")
    fit.add_argument("--dropout", type=share, default=0.1, metavar="P", help="dropout in the encoder (0.1)")
    fit.add_argument("--pooler-dropout", type=share, default=0.1, metavar="P",
                     help="dropout before both layers of the head (0.1)")
    fit.add_argument("--token-mask", type=share, default=0.0, metavar="P",
                     help="replace training tokens by <mask> (0)")
    fit.add_argument("--token-drop", type=share, default=0.0, metavar="P",
                     help="leave training tokens out (0)")
    fit.add_argument("--crop", type=positive, default=1.0, metavar="SHARE",
                     help="train on random windows of at least this share of a text (1: whole texts)")
    fit.add_argument("--noise-from", type=int, default=1, metavar="TOKENS",
                     help="don't mask, drop or crop texts of fewer tokens (1: change all texts)")
    fit.add_argument("--weight-decay", type=not_negative, default=0.01, metavar="W", help="weight decay (0.01)")
    fit.add_argument("--label-smoothing", type=share, default=0.0, metavar="S", help="label smoothing (0)")
    fit.add_argument("--clip-norm", type=positive, default=1.0, metavar="C", help="largest norm of the gradients (1)")
    fit.add_argument("--average", type=share, default=0.0, metavar="DECAY",
                     help="keep a running average of the weights and save that, such as 0.998 (0: off)")
    fit.add_argument("--seed", type=int, default=1, metavar="S", help="random seed (1)")

    run = parser.add_argument_group("run")
    run.add_argument("--threads", type=int, default=1, metavar="T", help="number of threads (1)")
    run.add_argument("--log-interval", type=int, default=100, metavar="STEPS",
                     help="steps between lines if stderr is not a terminal (100)")
    said = run.add_mutually_exclusive_group()
    said.add_argument("--quiet", action="store_true", help="no progress on stderr, only errors")
    said.add_argument("--verbose", action="store_true",
                      help="also print the model's sizes, and each epoch's steps and learning rate")
    run.add_argument("--json", action="store_true", help="print results as JSON")
    args = parser.parse_args(argv)
    check_arguments(args)
    for name, value in STARTS.items():
        if getattr(args, name) is None:
            setattr(args, name, value)
    return args


def share(text):
    value = float(text)
    if not 0.0 <= value < 1.0:
        raise argparse.ArgumentTypeError(f"{text} is not in 0 <= x < 1")
    return value


def shares(text):
    values = [float(part) for part in text.split(",")]
    if not all(0.0 < value <= MOST_REPEATS for value in values):
        raise argparse.ArgumentTypeError(f"{text}: each share must be in 0 < x <= {MOST_REPEATS}")
    return values


def positive(text):
    value = float(text)
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def not_negative(text):
    value = float(text)
    if not 0.0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not zero or a positive number")
    return value


def check_arguments(args):
    if not args.train and not args.eval:
        raise UserError("give --train FILE, --eval FILE or both (--help shows examples)")
    if args.logits and not args.eval:
        raise UserError("--logits needs --eval")
    if args.valid and not args.train:
        raise UserError("--valid needs --train")
    if args.train_shares and len(args.train_shares) != len(args.train or ()):
        raise UserError(f"--train-shares gives {len(args.train_shares)} shares for "
                        f"{len(args.train or ())} --train files")
    for name in ("epochs", "patience", "batch_tokens", "batch_texts", "noise_from", "threads", "log_interval"):
        if getattr(args, name) is not None and getattr(args, name) < 1:
            raise UserError(f"{option(name)} must be at least 1")
    if args.init:
        given = [option(name) for name in STARTS if getattr(args, name) is not None]
        if given:
            raise UserError(f"--init takes labels, tokens and sizes from {args.init}: leave out {given[0]}")
        if not args.train:
            raise UserError("--init needs --train")
    if args.crop > 1.0:
        raise UserError("--crop must be at most 1")
    if not 0 <= args.seed < 2 ** 32:
        raise UserError("--seed must be in 0 .. 4294967295")
    if args.threads > MOST_THREADS:
        raise UserError(f"--threads must be at most {MOST_THREADS}")


def run_training(args):
    import torch
    import bpe
    import checkpoint
    from baseline import linear_accuracy
    from batches import TrainingBatches
    from records import label_ids, label_order, read_records
    from trainer import Schedule, train

    started = time.monotonic()
    fields = (args.field, args.pair, args.label)
    files = [read_records(path, *fields) for path in args.train]
    found = label_order([record for records in files for record in records])
    if len(found) < 2:
        raise UserError(f"{', '.join(args.train)}: all records have the label '{found[0]}'")
    if args.valid:
        valid_files = [read_records(path, *fields) for path in args.valid]
        valid_paths = args.valid
    else:
        files, valid_files = zip(*(split(records, args.valid_split, args.seed) for records in files))
        valid_paths = args.train
    records = [record for part in files for record in part]

    if args.init:
        model, config, labels = checkpoint.load(
            args.init, dropout=args.dropout, pooler_dropout=args.pooler_dropout)
        encoder = load_tokens(args.init, config)
        texts, found = encoder.encode(records), labels
        torch.manual_seed(args.seed)
    else:
        model, config, labels, encoder, texts = new_model(args, records, found)
    # All labels are checked before the folder is made.
    classes = [label for part, path in zip(files, args.train) for label in label_ids(part, found, path)]
    valid_classes = [label_ids(part, found, path) for part, path in zip(valid_files, valid_paths)]
    make_folder(args.out)
    parameters = sum(p.numel() for p in model.parameters())
    if not args.quiet:
        print(f"{len(records)} training and {sum(map(len, valid_files))} validation records, "
              f"{config.vocab_size} tokens, {parameters} parameters", file=sys.stderr, flush=True)
    if args.verbose:
        print("model: " + ", ".join(f"{name} {value}" for name, value in vars(config).items()), file=sys.stderr,
              flush=True)

    batches = TrainingBatches(
        texts, classes, [len(part) for part in files], args.train_shares or [1.0] * len(files),
        config.max_tokens, args.batch_tokens, args.batch_texts,
        argparse.Namespace(crop=args.crop, drop=args.token_drop, mask=args.token_mask,
                           shortest=args.noise_from),
        encoder.mask_id, args.seed)
    valid = [([bpe.frame(*text, config.max_tokens) for text in encoder.encode(part)], part_classes)
             for part, part_classes in zip(valid_files, valid_classes)]

    def save_best(candidate, result):
        checkpoint.save(candidate, config, labels, encoder, args.out, args.half, {
            "common": {"seed": args.seed}, "updates": result["updates"],
            "best": result["accuracy"], "epoch": result["epoch"]})

    schedule = Schedule(**{name: getattr(args, name) for name in Schedule.__dataclass_fields__})
    best = train(model, batches, valid, schedule, save_best)
    linear = linear_accuracy((plain_texts(records), classes),
                             [(plain_texts(part), ids) for part, ids in zip(valid_files, valid_classes)], len(labels))
    return {"out": args.out, "parameters": parameters, "best_epoch": best["epoch"],
            "valid_accuracy": best["accuracy"], "valid_loss": best["loss"], "linear_valid_accuracy": linear,
            "valid_accuracies": dict(zip(valid_paths, best["accuracies"])),
            "seconds": round(time.monotonic() - started, 1)}


def plain_texts(records):
    return [f"{record.text} {record.pair}" if record.pair else record.text for record in records]


def new_model(args, records, found):
    """Makes an untrained model. Returns (model, config, labels, encoder, texts as token ids)."""
    import torch
    import bpe
    from embedding_init import token_vectors
    from linformer_model import LinformerClassifier, initialise, set_token_vectors

    labels = args.label_names.split(",") if args.label_names else found
    if len(labels) != len(found) or len(set(labels)) != len(labels) or not all(labels):
        raise UserError(f"--label-names must give {len(found)} different names, one for each of: "
                        + ", ".join(found[:8]))
    encoder = bpe.load(args.tokenizer) if args.tokenizer else bpe.learn(records, args.vocab_size)
    config = ModelConfig(
        vocab_size=len(encoder.vocabulary), max_tokens=args.max_tokens,
        k=max(1, args.max_tokens // 4) if args.k is None else args.k, d_model=args.d_model,
        layers=args.layers, heads=args.heads, ffn=4 * args.d_model if args.ffn is None else args.ffn,
        classes=len(labels), sharing=args.sharing, dropout=args.dropout,
        pooler_dropout=args.pooler_dropout)
    config.check()

    torch.manual_seed(args.seed)
    model = LinformerClassifier(config)
    initialise(model, args.compress_init)
    texts = encoder.encode(records)
    if args.embed_init == "cooccurrence":
        set_token_vectors(model, token_vectors(texts, config.vocab_size, config.d_model, args.seed))
    return model, config, labels, encoder, texts


def load_tokens(folder, config):
    import bpe

    encoder = bpe.load(folder)
    if len(encoder.vocabulary) != config.vocab_size:
        raise UserError(f"{folder}: vocab.json has {len(encoder.vocabulary)} tokens, "
                        f"the model {config.vocab_size}")
    return encoder


def split(records, valid_share, seed):
    import numpy

    held = max(1, round(len(records) * valid_share))
    if held >= len(records):
        raise UserError("too few records to hold some out: give --valid FILE")
    order = numpy.random.RandomState(seed).permutation(len(records))
    chosen = set(order[:held].tolist())
    return ([r for i, r in enumerate(records) if i not in chosen],
            [r for i, r in enumerate(records) if i in chosen])


def make_folder(folder):
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder}: {error.strerror}") from error


def run_evaluation(args):
    import numpy
    import bpe
    import checkpoint
    from records import label_ids, read_records
    from trainer import logits_of, measure

    model, config, labels = checkpoint.load(args.out)
    encoder = load_tokens(args.out, config)
    records = read_records(args.eval, args.field, args.pair, args.label)
    classes = label_ids(records, labels, args.eval)
    sequences = [bpe.frame(*text, config.max_tokens) for text in encoder.encode(records)]
    logits = logits_of(model, sequences, args.batch_tokens, args.quiet)
    if args.logits:
        try:
            with open(args.logits, "wb") as file:
                numpy.save(file, logits.numpy())
        except OSError as error:
            raise UserError(f"{args.logits}: {error.strerror}") from error
    return {"file": args.eval, **measure(logits, classes)}


def run(argv):
    args = parse_arguments(argv)
    # The thread pool of the tokenizers library reads this variable when it starts.
    os.environ["RAYON_NUM_THREADS"] = str(args.threads)
    try:
        import tokenizers  # noqa: F401
        import torch
    except ImportError as error:
        requirements = os.path.join(os.path.dirname(os.path.abspath(__file__)), "requirements.txt")
        raise UserError(f"{error.name} is not installed: python3 -m venv venv && venv/bin/pip install -r "
                        f"{requirements}, then run venv/bin/python3") from error
    torch.set_num_threads(args.threads)

    results = {}
    if args.train:
        results["train"] = run_training(args)
    if args.eval:
        results["eval"] = run_evaluation(args)
    if args.json:
        print(json.dumps(results))
        return
    if args.train:
        print("saved {out}: best epoch {best_epoch}, validation accuracy {valid_accuracy:.4f}, "
              "{seconds:.0f} s".format(**results["train"]))
        linear = results["train"]["linear_valid_accuracy"]
        print(f"a linear model on the same texts (TF-IDF, logistic regression): validation accuracy {linear:.4f}")
        if linear >= results["train"]["valid_accuracy"]:
            print("note: the linear model is no worse here: use one for these texts, or train on more of them")
        print(f"next: linformer-convert {shlex.quote(args.out)} -o model.lnfr")
    if args.eval:
        print("{file}: accuracy {accuracy:.4f} ({correct} of {records}), loss {loss:.4f}"
              .format(**results["eval"]))


def main(argv=None):
    try:
        run(sys.argv[1:] if argv is None else argv)
    except UserError as error:
        print(f"train.py: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("train.py: interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
