"""Models for the tests, converted once. LINFORMER_CPP_LIBRARY and LINFORMER_CPP_PROGRAMS in the environment say which
library and programs are tested; without them those of the installed wheel are."""
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
    """made("tagger"): the model of models.tagger()."""
    place, found = tmp_path_factory.mktemp("checkpoints"), {}

    def make(name):
        if name not in found:
            found[name] = linformer_cpp.load(getattr(models, name)(place / name), cache_dir=cache)
        return found[name]

    make.place = place
    return make


@pytest.fixture(scope="session")
def said():
    """What the program linformer prints with these arguments, a JSON object of each line."""
    def run(*arguments):
        command = [program("linformer"), *map(str, arguments)]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    return run
