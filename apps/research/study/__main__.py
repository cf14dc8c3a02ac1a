"""python -m study: runs the study's experiments, and makes its tables and pictures."""
import argparse
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = """examples:
  python -m study --list                             lists the runs, and which are done
  python -m study --group controls --model minilm=all-MiniLM-L6-v2
  python -m study --small --model minilm=all-MiniLM-L6-v2 --results again
                                                     repeats one small row of each table in less than 20 minutes
  python -m study --compare again                    compares its numbers with those in the tree, digit by digit
  python -m study --tables                           writes RESULTS.md and the pictures from the results in the tree

A run that is done is not repeated. After an interruption, the same command continues with the next run. The exit status
is 0 after success, 1 after an error or if a number differs, and 2 after wrong usage."""


def make_parser():
    parser = argparse.ArgumentParser(prog="python -m study", description=__doc__.split(": ", 1)[1].capitalize(),
                                     epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--list", action="store_true", help="show the runs")
    add("--group", nargs="+", action="extend", default=[], help="run these groups")
    add("--run", nargs="+", action="extend", default=[], metavar="GROUP/NAME", help="run these, also if they are done")
    add("--small", action="store_true", help="run one small row of each table")
    add("--tables", action="store_true", help="write RESULTS.md and the pictures")
    add("--compare", metavar="FOLDER", help="compare the results in FOLDER with those in the folder of --results")
    add("--data", default="../../../shared/data", metavar="FOLDER",
        help="folder with the corpora sst2, imdb, pairs and mlm (%(default)s)")
    add("--model", nargs="+", action="extend", default=[], metavar="NAME=FOLDER",
        help="folders of pretrained models: minilm=FOLDER")
    add("--work", default="study-work", metavar="FOLDER", help="folder for models and tokens (%(default)s)")
    add("--results", default=str(HERE / "results"), metavar="FOLDER", help="folder for results (the one in the tree)")
    add("--threads", type=int, default=1, help="threads of a run; the same number gives the same digits (1)")
    add("--quiet", action="store_true", help="show no progress")
    return parser


def main(arguments=None):
    parser = make_parser()
    options = parser.parse_args(arguments)
    try:
        from study import plan
    except ImportError as error:
        print(f"study: {error}. Install the libraries that linearise/requirements.txt lists.", file=sys.stderr)
        return 1
    from linearise.errors import UserError
    try:
        return plan.perform(options, parser)
    except UserError as error:
        print(f"study: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstudy: interrupted. The same command continues with the run that was not finished.", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
