"""Runs the tests of this folder with pytest. Exits with 77 if pytest or NumPy is missing."""
import pathlib
import sys


def main():
    try:
        import numpy  # noqa: F401
        import pytest
    except ImportError as error:
        print(f"skipped: {error}")
        return 77
    return pytest.main(["-q", "-p", "no:cacheprovider", str(pathlib.Path(__file__).parent), *sys.argv[1:]])


if __name__ == "__main__":  # Processes that a test spawns import this file.
    sys.exit(main())
