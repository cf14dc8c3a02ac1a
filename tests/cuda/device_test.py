"""Tests device.sh and its programs without a GPU: the packed files, the choice of steps, and the summary."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import device_pack
import device_summary

RESULT = {"n": 512, "batch": 1, "median_ms": 2.0, "tokens_per_second": 256000.0, "gflops": 50.0, "gflop": 0.1,
          "roofline_ms": 1.0, "share_of_roofline": 0.5,
          "profile": {"ops": [{"op": "gemm", "part": "layers 0-11", "operands": "a x b", "flop": 2e8, "seconds": 3e-3,
                               "share": 0.75},
                              {"op": "norm", "part": "layers 0-11", "operands": "c", "flop": 0, "seconds": 1e-3,
                               "share": 0.25}]}}


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name


class Pack(unittest.TestCase):
    def test_every_pinned_archive_is_found_in_fetch_cmake(self):
        with open(os.path.join(SOURCE, "third_party", "fetch.cmake"), encoding="utf-8") as file:
            checksums = set(re.findall(r"\b[0-9a-f]{64}\b", file.read()))
        pinned = device_pack.pinned()
        self.assertEqual([name for name, _, _ in pinned], ["xsimd", "xxhash", "utf8proc", "flatbuffers"])
        self.assertEqual({sha256 for _, _, archives in pinned for _, sha256 in archives}, checksums)
        for _, url, archives in pinned:
            self.assertTrue(url.startswith("https://") and "$" not in url, url)
            self.assertTrue(all(re.search(r"\.tar\.\w+$", name) for name, _ in archives), archives)

    def test_cmake_files_of_packages_name_the_folder_that_they_are_copied_to(self):
        for package in device_pack.PACKAGES:
            if subprocess.run(["dpkg", "-s", package], capture_output=True).returncode != 0:
                self.skipTest(f"the package {package} is not installed")
        with tempfile.TemporaryDirectory() as prefix:
            for package in device_pack.PACKAGES:
                device_pack.stage(package, prefix)
            for root, _, names in os.walk(prefix):
                for name in (name for name in names if name.endswith(".cmake")):
                    with open(os.path.join(root, name), encoding="utf-8") as file:
                        self.assertFalse('"/usr"' in file.read(), f"{name} names the system's folder")
            targets = os.path.join(prefix, "lib/cmake/doctest/doctestTargets.cmake")
            with open(targets, encoding="utf-8") as file:
                self.assertTrue('set(_IMPORT_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../..")' in file.read())


class Summary(Folder):
    def test_the_summary_has_steps_figures_and_the_first_failure(self):
        for name, status in (("build", "passed 200 3000"), ("test-golden", "failed 12 10"), ("torch", "skipped 1 1")):
            write(f"{self.folder}/{name}.status", status)
        write(f"{self.folder}/test-golden.log", "one\ntwo: ERROR: CHECK( 1 == 2 )\nthree\n")
        write(f"{self.folder}/torch.log", "skipped: Python's package torch is not here\n")
        limits = {"f16_gflops": 700000.0, "memory_gbps": 3000.0}
        failed = {"n": 65536, "batch": 32, "error": "cuda:0 has no memory"}
        write(f"{self.folder}/bench-f16-128.json", json.dumps({"limits": limits, "results": [RESULT, failed]}))
        write(f"{self.folder}/products.json", json.dumps(
            {"results": [{"type": "f16", "n": 512, "batch": 1, "k": 128, "layer_ms": 0.05}]}))
        saved = {"k": 128, "time_saved": {"ours": 2.0, "paper": 1.5}}
        write(f"{self.folder}/paper-f16.json", json.dumps({"paper": [{"cells": [saved, {"k": 0}]}]}))
        text = subprocess.run([sys.executable, f"{HERE}/device_summary.py", self.folder], check=True,
                              capture_output=True, text=True).stdout
        self.assertIn("two: ERROR: CHECK( 1 == 2 )", text)
        self.assertIn("skipped: Python's package torch is not here", text)
        self.assertIn("cuda:0 has no memory", text)
        self.assertRegex(text, r"512 +1 +2\.000 .* 1\.000 +50\.0 % +1\.500 +0\.600  < 60 %")
        self.assertRegex(text, r"75\.0 % .* gemm")
        self.assertIn("1 of 1 measured cells", text)

    def test_the_summary_of_an_empty_folder_is_empty(self):
        self.assertTrue(device_summary.steps_text(self.folder) == [] == device_summary.bench_text(self.folder))


class Run(Folder):
    """Runs `device.sh run` in a source tree whose test programs are small scripts."""

    def setUp(self):
        super().setUp()
        shutil.copytree(HERE, f"{self.folder}/tests/cuda", ignore=shutil.ignore_patterns("nvrtc_headers"))
        self.results = f"{self.folder}/build/device-results"
        for name, code in (("test_cuda", "exit 0"), ("test_cuda_reference", "exit 77"), ("test_cuda_bits", "exit 3"),
                           ("test_cuda_golden", "sleep 60"), ("cuda_products", "exit 0")):
            path = f"{self.folder}/build/cuda/tests/cuda/{name}"
            write(path, f"#!/bin/bash\necho ran >>{self.folder}/{name}.ran\n{code}\n")
            os.chmod(path, 0o755)

    def run_script(self, *arguments):
        environment = {name: value for name, value in os.environ.items() if name != "OUT"}
        return subprocess.run(["bash", f"{self.folder}/tests/cuda/device.sh", *arguments], capture_output=True,
                              text=True, env=environment)

    def status(self, step):
        with open(f"{self.results}/{step}.status", encoding="utf-8") as file:
            return file.read().split()[0]

    def runs_of(self, name):
        with open(f"{self.folder}/{name}.ran", encoding="utf-8") as file:
            return len(file.readlines())

    def test_each_step_has_a_status_and_runs_once(self):
        out = f"{self.folder}/out"
        chosen = "test-kernels,test-reference,bits"
        done = self.run_script("run", "--steps", chosen, "--out", out)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertEqual([self.status(step) for step in chosen.split(",")], ["passed", "skipped", "failed"])
        self.assertIn("bits: the first thing that failed", done.stdout)
        self.assertEqual(sorted(os.listdir(out)), ["results.tar.gz", "summary.txt"])
        self.assertEqual(self.run_script("run", "--seconds", "0").returncode, 3)
        for step in ("build", "device"):
            write(f"{self.results}/{step}.status", "passed 1 1")
        left = self.run_script("run", "--seconds", "0")
        self.assertEqual(left.returncode, 3, left.stdout + left.stderr)
        self.assertIn("Left for another call: test-golden ", left.stdout)
        self.assertEqual(self.runs_of("test_cuda"), 1)
        self.run_script("run", "--steps", "test-kernels")
        self.assertEqual(self.runs_of("test_cuda"), 2)

    def test_a_step_that_takes_too_long_is_stopped(self):
        with open(f"{HERE}/device.sh", encoding="utf-8") as file:
            text = file.read()
        write(f"{self.folder}/tests/cuda/device.sh", re.sub(r"(?m)^test-golden +\d+$", "test-golden 1", text))
        done = self.run_script("run", "--steps", "test-golden")
        self.assertEqual((done.returncode, self.status("test-golden")), (1, "stopped"), done.stdout + done.stderr)

    def test_no_step_runs_without_the_packed_folder(self):
        done = self.run_script("run")
        self.assertEqual(done.returncode, 1)
        self.assertIn("run 'device.sh pack' where there is a network", done.stdout)
        self.assertFalse(os.path.exists(f"{self.folder}/test_cuda.ran"))

    def test_every_step_has_a_function(self):
        with open(f"{HERE}/device.sh", encoding="utf-8") as file:
            text = file.read()
        steps = [line.split()[0] for line in self.run_script("steps").stdout.splitlines()]
        self.assertGreater(len(steps), 15)
        for step in steps:
            name = re.sub(r"-(f16|bf16|f32)\b.*", "", step).replace("-", "_")
            self.assertRegex(text, rf"(?m)^step_{name}\(\)", step)


if __name__ == "__main__":
    unittest.main()
