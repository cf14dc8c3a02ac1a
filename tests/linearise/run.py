"""Runs the tests of this folder with pytest. Exits with 77 if pytest, PyTorch, or transformers 5 is missing."""
import pathlib
import sys


def main():
    try:
        import pytest
        import safetensors  # noqa: F401
        import torch  # noqa: F401
        import transformers
        if int(transformers.__version__.split(".")[0]) < 5:
            raise ImportError(f"transformers {transformers.__version__} is older than 5.0")
    except ImportError as error:
        print(f"skipped: {error}")
        return 77
    folder = pathlib.Path(__file__).parent
    return pytest.main(["-q", "-p", "no:cacheprovider", *map(str, sorted(folder.glob("*_test.py"))), *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
