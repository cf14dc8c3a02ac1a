"""Converts the models of the tests once. The variables LINFORMER_CPP_LIBRARY and LINFORMER_CPP_PROGRAMS name the
library and the programs that are tested. By default those of the installed wheel are tested."""
import json
import subprocess

import pytest

import linformer_cpp
import models
from linformer_cpp._programs import program


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def made(tmp_path_factory, cache):
    """A function: made("tagger") returns the model of models.tagger()."""
    place, found = tmp_path_factory.mktemp("checkpoints"), {}

    def make(name):
        if name not in found:
            found[name] = linformer_cpp.load(getattr(models, name)(place / name), cache_dir=cache)
        return found[name]

    make.place = place
    return make


@pytest.fixture(scope="session")
def said():
    """A function that runs the program linformer and returns the JSON object of each line of its output."""
    def run(*arguments):
        command = [program("linformer"), *map(str, arguments)]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    return run
