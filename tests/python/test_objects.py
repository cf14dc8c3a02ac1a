"""Tests objects in other processes and threads, and calls that are stopped."""
import asyncio
import concurrent.futures
import multiprocessing
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest

import linformer_cpp as lin

TEXTS = ["the old sailor sings in Oslo .", "no", "a long train runs ."]


@pytest.mark.parametrize("kind, name, arguments", [
    (lin.Embedder, "embedding", {"truncate_dim": 8, "threads": 2}), (lin.Classifier, "classifier", {"head": 0}),
    (lin.Reranker, "reranker", {"logits": True}), (lin.Tagger, "tagger", {"aggregation_strategy": "first"}),
    (lin.Answerer, "answerer", {"top_k": 2}), (lin.FillMask, "masked", {"top_k": 2})])
def test_pickled_objects_are_equal(made, kind, name, arguments):
    first = kind(made(name), **arguments)
    second = pickle.loads(pickle.dumps(first))
    assert type(second) is kind and repr(second) == repr(first)
    assert second.model.path == first.model.path


def encoded(embedder):
    return embedder.encode(TEXTS)


@pytest.mark.parametrize("way", ["fork", "spawn", "forkserver"])
def test_processes(made, way):
    if way not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system has no {way}")
    embedder = lin.Embedder(made("embedding"), threads=2)
    expected = embedder.encode(TEXTS)
    with multiprocessing.get_context(way).Pool(2) as pool:
        for vectors in pool.map(encoded, [embedder] * 4):
            np.testing.assert_array_equal(vectors, expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_an_inherited_object_works(made):
    embedder = lin.Embedder(made("embedding"), threads=2)
    expected = embedder.encode(TEXTS)
    child = os.fork()
    if child == 0:
        os._exit(0 if (embedder.encode(TEXTS) == expected).all() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_threads_share_an_object(made):
    embedder = lin.Embedder(made("embedding"))
    expected, wrong = embedder.encode(TEXTS), []

    def work():
        for _ in range(20):
            if not (embedder.encode(TEXTS) == expected).all():
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_objects_of_their_own_run_at_once(made):
    """Each thread has its own object for one shared model, like the workers of a server."""
    model, expected = made("embedding"), lin.Embedder(made("embedding")).encode(TEXTS)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for vectors in pool.map(lambda _: lin.Embedder(model).encode(TEXTS), range(16)):
            np.testing.assert_array_equal(vectors, expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_fork_during_a_call(made):
    """If a process forks while another thread is in a call, the child gets an error and can make a new object."""
    embedder = lin.Embedder(made("embedding"))
    expected = embedder.encode(TEXTS)
    busy = threading.Thread(target=lambda: embedder.encode(["the old sailor sings in Oslo . " * 5] * 5_000))
    busy.start()
    while not embedder._lock.locked():
        time.sleep(0.001)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            embedder.encode(TEXTS)
        except lin.LinformerError as error:
            same = (lin.Embedder(made("embedding")).encode(TEXTS) == expected).all()
            code = 0 if "forked" in str(error) and same else 2
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    busy.join()
    np.testing.assert_array_equal(embedder.encode(TEXTS), expected)


def test_a_generator_may_be_left(made):
    """The results of an iterator needn't be read to the end, and an exception of the iterator reaches the reader."""
    embedder = lin.Embedder(made("embedding"))
    vectors = embedder.encode(text for text in TEXTS * 1000)
    next(vectors)
    vectors.close()

    def texts():
        yield from TEXTS
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        list(embedder.encode(texts()))


def test_async(made):
    embedder = lin.Embedder(made("embedding"))

    async def both():
        return await asyncio.gather(embedder.encode_async(TEXTS), embedder.encode_async(TEXTS[:1]))

    vectors, first = asyncio.run(both())
    np.testing.assert_array_equal(vectors[:1], first)


@pytest.mark.skipif(os.name == "nt", reason="this system sends no signals")
def test_interrupt_ends_a_long_call(made):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # A shell's background jobs ignore SIGINT.
    embedder = lin.Embedder(made("embedding"))
    texts = ["the old sailor sings in Oslo . " * 5] * 400_000
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    begin = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        embedder.encode(texts)
    assert time.monotonic() - begin < 20  # The whole call would take minutes.
    assert embedder.encode(TEXTS).shape == (3, 32)  # The object works afterwards.


def test_streams_are_lazy(made):
    seen = []

    def texts():
        for number in range(10_000):
            seen.append(number)
            yield "the train runs ."

    vectors = lin.Embedder(made("embedding")).encode(texts())
    assert next(vectors).shape == (32,)
    assert len(seen) < 2_000
    found = lin.Classifier(made("classifier"))(text for text in TEXTS)
    assert len(list(found)) == 3
