#!/usr/bin/env python3
"""Mixes the weights of two models of which the second was trained from the first (train.py --init).

    blend.py FIRST SECOND --share 0.7 --half --out DIR

Every weight is (1 - share) times FIRST's plus share times SECOND's. The mixed model keeps more of what the first model
has learned and the second has forgotten. Choose the share with validation records (train.py --eval)."""

import argparse
import dataclasses
import filecmp
import os
import sys

from config import UserError
from train import OneLineParser, make_folder, share


def parse_arguments(argv):
    parser = OneLineParser(prog="blend.py", description=__doc__, allow_abbrev=False,
                           formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", metavar="FIRST", help="folder of the model that training started from")
    parser.add_argument("second", metavar="SECOND", help="folder of the trained model")
    parser.add_argument("--share", type=share, default=0.5, metavar="S", help="share of SECOND (0.5)")
    parser.add_argument("--half", action="store_true", help="store half precision")
    parser.add_argument("--out", required=True, metavar="DIR", help="folder for the mixed model")
    return parser.parse_args(argv)


def blend(args):
    import torch
    import bpe
    import checkpoint

    (first, config, labels), (second, other, other_labels) = map(checkpoint.load, (args.first, args.second))
    same = dataclasses.replace(other, dropout=config.dropout, pooler_dropout=config.pooler_dropout)
    if same != config or labels != other_labels:
        raise UserError(f"{args.first} and {args.second} differ in sizes or labels")
    for name in bpe.FILES:
        one, two = (os.path.join(folder, name) for folder in (args.first, args.second))
        if not os.path.exists(one) or not os.path.exists(two) or not filecmp.cmp(one, two, shallow=False):
            raise UserError(f"{one} and {two} must exist and be equal")
    with torch.no_grad():
        for kept, trained in zip(first.parameters(), second.parameters()):
            kept.lerp_(trained, args.share)
    make_folder(args.out)
    checkpoint.save(first, other, labels, bpe.load(args.first), args.out, args.half,
                    {"common": {}, "updates": 0, "best": None, "epoch": 0})


def main(argv=None):
    try:
        import tokenizers  # noqa: F401
        import torch  # noqa: F401
    except ImportError as error:
        print(f"blend.py: error: {error.name} is not installed: see requirements.txt", file=sys.stderr)
        return 2
    try:
        blend(parse_arguments(sys.argv[1:] if argv is None else argv))
    except UserError as error:
        print(f"blend.py: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
