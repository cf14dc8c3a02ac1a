"""python -m study: runs the study's experiments, and makes its tables and pictures."""
import argparse
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = """examples:
  python -m study --list                             the runs, and which are done
  python -m study --group controls --model minilm=all-MiniLM-L6-v2
  python -m study --small --model minilm=all-MiniLM-L6-v2 --results again
                                                     one small row of each table, in less than 20 minutes
  python -m study --compare again                    whether its numbers are those of the tree, to the digit
  python -m study --tables                           RESULTS.md and the pictures, from the results in the tree

A run that is done is not repeated; an interrupted study goes on with the next run. Exit status: 0 done, 1 an error, or
a number that differs, 2 usage."""


def make_parser():
    parser = argparse.ArgumentParser(prog="python -m study", description=__doc__.split(": ", 1)[1].capitalize(),
                                     epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--list", action="store_true", help="show the runs")
    add("--group", nargs="+", default=[], help="run these groups")
    add("--run", nargs="+", default=[], metavar="GROUP/NAME", help="run these, although they may be done")
    add("--small", action="store_true", help="run one small row of each table")
    add("--tables", action="store_true", help="write RESULTS.md and the pictures")
    add("--compare", metavar="FOLDER", help="compare the results in FOLDER with those of --results")
    add("--data", default="../../../shared/data", metavar="FOLDER", 
        help="corpora: sst2, imdb, pairs, mlm (%(default)s)")
    add("--model", nargs="+", default=[], metavar="NAME=FOLDER", help="pretrained models: minilm=FOLDER")
    add("--work", default="study-work", metavar="FOLDER", help="for models and tokens (%(default)s)")
    add("--results", default=str(HERE / "results"), metavar="FOLDER", help="for results (those of the tree)")
    add("--threads", type=int, default=1, help="threads of a run; results are the same to the digit with the same (1)")
    add("--quiet", action="store_true", help="no progress")
    return parser


def main(arguments=None):
    parser = make_parser()
    options = parser.parse_args(arguments)
    try:
        from study import plan
    except ImportError as error:
        print(f"study: {error}. Install the libraries of linearise/requirements.txt.", file=sys.stderr)
        return 1
    from linearise.errors import UserError
    try:
        return plan.perform(options, parser)
    except UserError as error:
        print(f"study: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstudy: interrupted. The same command goes on with the run that was not finished.", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
