#!/usr/bin/env python3
"""Tests arguments, environment and turns of peers.py without another engine and without a build."""
import errno
import importlib.util
import json
import os
import sys
import tempfile
import textwrap
import unittest
from unittest import mock

from stand_ins import BENCH, np, silent

from peers import common, environment, turns, worker
from peers.common import UserError

# "import peers" would find the folder of the same name, so the program is loaded by its path.
location = importlib.util.spec_from_file_location("peers_program", os.path.join(BENCH, "peers.py"))
program = importlib.util.module_from_spec(location)
location.loader.exec_module(program)

BUILD = ["--linformer", "build"]


class Arguments(unittest.TestCase):
    def test_default_options(self):
        options = program.parse(["encode", *BUILD])
        self.assertEqual((options.n, options.k, options.threads, options.rounds, options.seconds),
                         ([512], 128, 2, 5, 1.0))
        self.assertEqual(options.engines, ["pytorch", "onnxruntime", "openvino", "linformer"])
        self.assertEqual(options.precisions, ["f32", "bf16", "int8"])
        self.assertEqual(program.parse(["growth", *BUILD]).engines, ["reformer", "linformer"])
        sample = program.parse(["classify", *BUILD, "--texts", "t"])
        self.assertTrue(os.path.isfile(os.path.join(sample.checkpoint, "labels.txt")), sample.checkpoint)
        self.assertEqual((sample.batch, sample.count, sample.precisions), (32, None, ["f32", "bf16", "int8"]))

    def test_lists_are_sorted_and_without_doubles(self):
        options = program.parse(["encode", *BUILD, "--n", "4096,512,512", "--engines", "linformer,pytorch",
                                 "--precisions", "int8,f32,int8"])
        self.assertEqual(options.n, [512, 4096])
        self.assertEqual(options.engines, ["pytorch", "linformer"])
        self.assertEqual(options.precisions, ["f32", "int8"])

    def test_clearing_a_parsed_list_does_not_change_the_default(self):
        program.parse(["encode", *BUILD]).engines.clear()
        self.assertEqual(len(program.parse(["encode", *BUILD]).engines), 4)

    def test_the_ends_of_ranges_are_taken(self):
        for words in (["--n", "1"], ["--n", "65536"], ["--k", "0"], ["--k", "16384"], ["--threads", "256"],
                      ["--seconds", "0"], ["--seconds", "3600"], ["--calibrations", "300"]):
            program.parse(["encode", *BUILD, *words])

    def test_refusals(self):
        encode_, texts = ["encode", *BUILD], ["sentences", *BUILD, "--model", "m", "--texts", "t"]
        for words, says in (
                ([], "give a command"), (["measure"], "measure"), (["encode"], "--linformer"),
                ([*encode_, "--n", "0"], "0 is not in 1 .. 65536"),
                ([*encode_, "--n", "512,65537"], "65537 is not in"),
                ([*encode_, "--n", "12,x"], "'x' is no whole number"), ([*encode_, "--n", ""], "no whole number"),
                ([*encode_, "--n", "1.5"], "no whole number"), ([*encode_, "--k", "-1"], "-1 is not in 0"),
                ([*encode_, "--k", "16385"], "16385 is not in"), ([*encode_, "--threads", "0"], "0 is not in 1 .. 256"),
                ([*encode_, "--rounds", "0"], "0 is not in 1 .. 1000"),
                ([*encode_, "--seconds", "-1"], "not in 0 .. 3600 seconds"),
                ([*encode_, "--seconds", "nan"], "not in 0 .. 3600 seconds"),
                ([*encode_, "--seconds", "x"], "'x' is no number"),
                ([*encode_, "--engines", "pytorch,tensorflow"], "'tensorflow' is none of pytorch, onnxruntime"),
                ([*encode_, "--engines", "reformer"], "'reformer' is none of"),
                ([*encode_, "--engines", ""], "'' is none of"), ([*encode_, "--precisions", "f16"], "'f16' is none"),
                ([*encode_, "--thread", "2"], "--thread"), ([*encode_, "more"], "more"),
                (["growth", *BUILD, "--k", "0"], "0 is not in 1"), (["growth", *BUILD, "--n", "63"], "63 is not in 64"),
                (["growth", *BUILD, "--engines", "pytorch"], "'pytorch' is none of reformer, linformer"),
                ([*texts[:-2]], "--texts"), ([*texts, "--batch", "4097"], "4097 is not in"),
                ([*texts, "--count", "0"], "0 is not in 1"), (["classify", *BUILD], "--texts"),
                (["setup", "--linformer", "b"], "--linformer")):
            with self.subTest(words=words), self.assertRaises(UserError) as said:
                program.parse(words)
            self.assertIn(says, str(said.exception))
        self.assertEqual(program.parse(["classify", *BUILD, "--texts", "t", "--precisions", "f16"]).precisions, ["f16"])

    def ended(self, *words, enter=None):
        """Returns (exit status, standard error) of main(), which stops before it enters the environment."""
        with mock.patch.object(sys, "argv", ["peers.py", *words]), silent() as (_, err), \
                mock.patch.object(environment, "enter", side_effect=enter):
            return program.main(), err.getvalue()

    def test_exit_status(self):
        self.assertEqual(self.ended(), (2, "peers.py: give a command: setup, encode, models, growth, sentences or "
                                           "classify (--help shows examples)\n"))
        full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "file")
        for error, status, says in ((UserError("no"), 2, "peers.py: no\n"), (BrokenPipeError(), 0, ""),
                                    (full, 1, "peers.py: file: No space left on device\n"),
                                    (KeyboardInterrupt(), 130, "")):
            self.assertEqual(self.ended("encode", *BUILD, enter=error), (status, says))

    def test_help_names_every_command(self):
        def helped(*words):
            with silent() as (out, _), self.assertRaises(SystemExit) as end:
                program.parse([*words, "--help"])
            self.assertEqual(end.exception.code, 0)
            return out.getvalue()

        for name in ("setup", "encode", "models", "growth", "sentences", "classify"):
            self.assertRegex(helped(), rf"(?m)^    {name}\s")
            self.assertIn(f"peers.py {name} ", helped(name))


class Environment(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def options(self, *words):
        return program.parse(["encode", *BUILD, *words])

    def left_out(self, options, missing):
        with mock.patch.object(environment, "missing_packages", return_value=missing), silent() as (_, err):
            program.leave_out_missing(options)
        return err.getvalue()

    def test_engines_whose_packages_are_missing_are_left_out_and_said(self):
        options = self.options()
        said = self.left_out(options, {"onnx": "no wheel"})
        self.assertEqual((options.engines, options.found), (["pytorch", "linformer"], ["pytorch"]))
        self.assertEqual([line.split()[1] for line in said.splitlines()], ["onnxruntime", "openvino"])
        options = self.options("--engines", "linformer")
        self.assertEqual(self.left_out(options, {"torch": "no wheel"}), "")  # PyTorch wasn't requested.
        self.assertEqual((options.engines, options.found), (["linformer"], ["onnxruntime", "openvino"]))

    def test_folders_are_looked_for_before_anything_is_measured(self):
        nowhere = os.path.join(self.folder, "nowhere")
        for words in (["--scratch", nowhere], ["--json", os.path.join(nowhere, "a.json")]):
            with self.assertRaisesRegex(UserError, words[0]):
                self.left_out(self.options(*words), {})
        for path in ("-", "a.json", os.path.join(self.folder, "a.json")):
            self.left_out(self.options("--scratch", self.folder, "--json", path), {})

    def test_ready_is_what_setup_finished_with_these_versions(self):
        def record(text):
            with open(os.path.join(self.folder, environment.RECORD), "w", encoding="utf-8") as file:
                file.write(text)

        self.assertFalse(environment.is_ready(self.folder))
        os.mkdir(os.path.join(self.folder, "bin"))
        with open(environment.python_of(self.folder), "w", encoding="utf-8"):
            pass
        record('{"pins": ')
        self.assertFalse(environment.is_ready(self.folder))
        record(json.dumps({"pins": {**environment.PINS, "torch": "1.0"}, "missing": {}}))
        self.assertFalse(environment.is_ready(self.folder))
        record(json.dumps({"pins": environment.PINS, "missing": {"onnx": "why"}}))
        self.assertTrue(environment.is_ready(self.folder))
        with mock.patch.object(sys, "prefix", self.folder):
            self.assertEqual(environment.missing_packages(), {"onnx": "why"})
            with mock.patch.object(os, "execv") as execv:
                environment.enter(self.folder, ["peers.py", "encode"])  # The process is already in the environment.
        execv.assert_not_called()
        with mock.patch.object(os, "execv") as execv:
            environment.enter(self.folder, ["peers.py", "encode"])
        inner = environment.python_of(self.folder)
        execv.assert_called_once_with(inner, [inner, "peers.py", "encode"])

    def test_setup_touches_no_folder_of_something_else(self):
        with open(os.path.join(self.folder, "letter"), "w", encoding="utf-8"):
            pass
        with mock.patch.object(environment.venv, "create") as create, self.assertRaisesRegex(UserError, "not empty"):
            environment.setup(self.folder)
        create.assert_not_called()
        self.assertEqual(os.listdir(self.folder), ["letter"])

    def test_programs_that_fail_say_it_in_a_line(self):
        def failure(code):
            with self.assertRaises(UserError) as said:
                common.run([sys.executable, "-I", "-S", "-c", textwrap.dedent(code)], "it")
            return str(said.exception)

        self.assertEqual(common.run([sys.executable, "-I", "-S", "-c", "print(1)"], "it"), "1\n")
        self.assertEqual(failure("import sys; sys.exit('first\\nlast\\n\\n')"), "it failed: last")
        self.assertEqual(failure("print('said'); raise SystemExit(1)"), "it failed: said")
        self.assertEqual(failure("raise SystemExit(1)"), "it failed: no message")
        self.assertEqual(failure("import os; os.kill(os.getpid(), 9)"), "it failed: ended by signal 9")
        with self.assertRaisesRegex(UserError, "it: nowhere/x can't be run"):
            common.run(["nowhere/x"], "it")


class Fake(turns.Peer):
    """A peer that records its calls. With fails = {("turn", 2): error}, the second turn raises this error."""

    def __init__(self, name, diary, fails=None):
        super().__init__("pytorch", name)
        self.diary, self.fails, self.count = diary, fails or {}, {}

    def do(self, what):
        self.diary.append(f"{what} {self.precision}")
        self.count[what] = self.count.get(what, 0) + 1
        error = self.fails.get((what, self.count[what]))
        if error:
            raise error

    def prepare(self):
        self.do("prepare")

    def turn(self, seconds):
        self.do("turn")
        self.times.append(seconds)

    def save(self, path):
        self.do("save")

    def stop(self):
        self.do("stop")


class Turns(unittest.TestCase):
    def setUp(self):
        patch = mock.patch.object(turns.time, "sleep")
        patch.start()
        self.addCleanup(patch.stop)

    def taken(self, rounds, fails=None, outputs=True):
        """Runs turns of the peers a, b and c. Returns ({name: peer}, diary)."""
        diary = []
        peers = [Fake(name, diary, fails if name == "b" else None) for name in "abc"]
        turns.take_turns(peers, rounds, 7, "it", {peer: peer.precision for peer in peers} if outputs else None)
        return {peer.precision: peer for peer in peers}, diary

    def test_every_other_round_goes_backwards(self):
        peers, diary = self.taken(4, outputs=False)
        self.assertEqual([line[-1] for line in diary if line.startswith("prepare")], list("abc"))
        self.assertEqual([line[-1] for line in diary if line.startswith("turn")], list("abc" "cba" "abc" "cba"))
        self.assertEqual(diary[:3] + diary[-3:],
                         ["prepare a", "prepare b", "prepare c", "stop a", "stop b", "stop c"])
        self.assertEqual(peers["b"].times, [7] * 4)
        self.assertFalse(any(line.startswith("save") for line in diary))

    def test_outputs_are_saved_once_after_the_first_turn(self):
        _, diary = self.taken(3)
        self.assertEqual(diary[3:9], ["turn a", "save a", "turn b", "save b", "turn c", "save c"])
        self.assertEqual(sum(line.startswith("save") for line in diary), 3)

    def test_a_failed_peer_is_reported_and_the_others_continue(self):
        for what, number in (("prepare", 1), ("turn", 1), ("turn", 3), ("save", 1)):
            for error in (turns.Died("out of luck"), UserError("out of luck")):
                with self.subTest(what=what, number=number, error=type(error)):
                    peers, diary = self.taken(4, {(what, number): error})
                    self.assertEqual([len(peers[name].times) for name in "ac"], [4, 4])
                    self.assertEqual((peers["a"].error, peers["c"].error), (None, None))
                    self.assertEqual(peers["b"].row(), {"engine": "pytorch", "precision": "b", "error": "out of luck"})
                    # The failed peer is stopped at once, which frees its memory for the others, and isn't called again.
                    failed = [i for i, line in enumerate(diary) if line == f"{what} b"][-1]
                    self.assertEqual(diary[failed + 1], "stop b")
                    self.assertEqual([line for line in diary[failed + 1:] if line[-1] == "b"], ["stop b", "stop b"])

    def test_all_are_stopped_where_the_run_is_ended(self):
        diary = []
        peers = [Fake(name, diary, {("turn", 2): KeyboardInterrupt()}) for name in "ab"]
        with self.assertRaises(KeyboardInterrupt):
            turns.take_turns(peers, 3, 0, "it")
        self.assertEqual(diary[-3:], ["turn b", "stop a", "stop b"])

    def test_one_that_takes_no_turns_is_stopped_too(self):
        for fails in (None, {("save", 1): turns.Died("it")}):
            peer = Fake("a", [], fails)
            turns.save_output(peer, "file")
            self.assertEqual(peer.diary, ["prepare a", "save a", "stop a"])
            self.assertEqual(peer.error, "it" if fails else None)

    def test_row_has_median_and_least_of_all_calls(self):
        peer = turns.Peer("onnxruntime", "f32", graph="fused")
        peer.times, peer.peak, peer.version, peer.figures = [0.003, 0.001, 0.010, 0.002], 12.5, "1.2", {"cosine": 1.0}
        self.assertEqual(peer.title, "ONNX Runtime fused")
        row = peer.row()
        self.assertAlmostEqual(row.pop("median_ms"), 2.5)
        self.assertAlmostEqual(row.pop("min_ms"), 1.0)
        self.assertEqual(row, {"engine": "onnxruntime", "precision": "f32", "graph": "fused", "cosine": 1.0,
                               "version": "1.2", "calls": 4, "peak_mb": 12.5})

    def test_the_longest_idle_workers_are_stopped_to_free_memory(self):
        def kept(available, peaks):
            """Returns the workers that stay. Each one that stops frees 2 GiB of memory."""
            residents = []
            for i, peak in enumerate(peaks):
                peer = Fake(str(i), [])
                peer.peak = peak
                peer.stop = lambda peer=peer: (residents.remove(peer), free.append(free[-1] + (2 << 30)))
                residents.append(peer)
            free = [available]
            with mock.patch.object(turns, "RESIDENT", residents), \
                    mock.patch.object(turns, "memory", lambda name: free[-1]):
                turns.make_room(Fake("new", []))
            return [peer.precision for peer in residents]

        self.assertEqual(kept(None, [9e9, 9e9]), ["0", "1"])  # The free memory is unknown, so nobody stops.
        self.assertEqual(kept(6.1 * (1 << 30), [100.0] * 3), ["0", "1", "2"])  # Small workers stay if 6 GiB are free.
        self.assertEqual(kept(5 << 30, [100.0] * 3), ["1", "2"])
        self.assertEqual(kept(0, [100.0] * 3), [])
        self.assertEqual(kept(11 << 30, [100.0, 8192.0, 100.0]), ["1", "2"])

    def test_the_worker_with_the_latest_turn_is_stopped_last(self):
        diary = []
        peers = [Fake(name, diary) for name in "abc"]
        for rounds, order in ((1, "abc"), (2, "cba")):
            with mock.patch.object(turns, "RESIDENT", [peers[1], peers[2], peers[0]]):
                turns.take_turns(peers, rounds, 0, "it")
                self.assertEqual("".join(peer.precision for peer in turns.RESIDENT), order)


# An engine that replaces ONNX Runtime in a process of its own. Its "graph" says in which call it fails, and how.
ENGINE = """
import json, os, signal, sys
import numpy
print("what an engine likes to print")

class SessionOptions:
    pass

class InferenceSession:
    def __init__(self, path, options, providers):
        with open(path, encoding="utf-8") as file:
            self.fails = json.load(file)
        self.count, self.threads = 0, options.intra_op_num_threads

    def run(self, outputs, inputs):
        self.count += 1
        how = self.fails.get(str(self.count))
        if how == "raise":
            raise RuntimeError("first line\\nsecond line")
        if how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "exit":
            print("said before the end", file=sys.stderr, flush=True)
            os._exit(3)
        return [numpy.append(inputs["ids"], [self.threads, int(os.environ["OMP_NUM_THREADS"]), self.count])]

def set_default_logger_severity(level):
    pass
"""


class Workers(unittest.TestCase):
    """Tests real worker processes with an invented engine."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.write("onnxruntime.py", ENGINE)
        os.mkdir(self.path("onnxruntime-9.8.dist-info"))
        self.write("onnxruntime-9.8.dist-info/METADATA", "Metadata-Version: 2.1\nName: onnxruntime\nVersion: 9.8\n")
        np.save(self.path("ids.npy"), np.array([[5, 6]]))
        made = turns.environment
        patch = mock.patch.object(turns, "environment", lambda threads: {
            **made(threads), "PYTHONPATH": os.pathsep.join((BENCH, self.folder)), "PYTHONDONTWRITEBYTECODE": "1"})
        patch.start()
        self.addCleanup(patch.stop)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def peer(self, name, fails, steps=()):
        self.write(name + ".json", json.dumps(fails))
        return turns.WorkerPeer("onnxruntime", "f32", {
            "task": "encode", "threads": 3, "ids": self.path("ids.npy"), "graph": self.path(name + ".json")},
            self.folder, steps)

    def test_workers_take_turns_and_one_is_killed(self):
        # The first call of each worker is its warm-up, so the second round is the third call.
        good, killed = self.peer("good", {}), self.peer("killed", {"3": "kill"})
        outputs = {peer: self.path(f"{i}.npy") for i, peer in enumerate((good, killed))}
        turns.take_turns([good, killed], 3, 0, "it", outputs)
        self.assertEqual((good.error, killed.error), (None, "ended by signal 9 (out of memory?)"))
        self.assertEqual((len(good.times), len(killed.times)), (3, 1))
        self.assertTrue(all(0 < seconds < 60 for seconds in good.times), good.times)
        self.assertEqual((good.version, turns.RESIDENT), ("9.8", []))
        self.assertGreater(good.peak, 1)
        given = turns.environment(3)
        self.assertEqual([given[name] for name in ("CUDA_VISIBLE_DEVICES", "HF_HUB_OFFLINE")], ["", "1"])
        # The output of the first turn has the ids, the requested number of threads twice, and the number of the call.
        self.assertEqual(np.load(outputs[good]).tolist(), [5, 6, 3, 3, 2])

    def test_a_worker_says_why_it_ends(self):
        for fails, says in (({"1": "raise"}, "RuntimeError: first line"), ({"1": "exit"}, "said before the end")):
            peer = self.peer("failing", fails)
            turns.save_output(peer, self.path("never.npy"))
            self.assertEqual((peer.error, peer.worker), (says, None))
            self.assertFalse(os.path.exists(self.path("never.npy")))

    def test_a_step_without_its_file_fails_and_an_existing_file_is_not_written_again(self):
        step = {"kind": "none that is known", "out": self.path("absent")}
        peer = self.peer("good", {}, [step])
        turns.save_output(peer, self.path("never.npy"))
        self.assertEqual(peer.error, f"RuntimeError: {step['out']} was not written")
        self.write("absent", "")
        with mock.patch.object(turns, "prepare") as made:
            peer.prepare()
        made.assert_not_called()

    def test_a_turn_lasts_as_long_as_it_is_asked_to(self):
        clock = iter(range(1000))
        answers = []
        tasks = {"fake": lambda spec: mock.Mock(call=lambda: None)}
        with mock.patch.object(worker.time, "perf_counter", lambda: next(clock)), \
                mock.patch.object(sys, "stdin", ['{"seconds": 0}', '{"seconds": 8}']), \
                mock.patch("peers.engines.TASKS", tasks), mock.patch("peers.engines.version", lambda engine: "1"):
            worker.serve({"task": "fake", "engine": "fake"}, answers.append)
        # A call reads the clock twice, and the check for the end of the turn reads it once more.
        self.assertEqual([answer.get("times") for answer in answers], [None, [1], [1, 1, 1]])


if __name__ == "__main__":
    unittest.main()
