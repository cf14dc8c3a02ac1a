#!/usr/bin/env python3
"""Compiles every kernel for GPUs and prints its registers, shared memory and spills. No GPU is needed.

  kernels.py --archive liblinformer_session_simulated.a --source DIR --work DIR [--arch 70,75,...]
  kernels.py ... --nvcc /usr/local/cuda/bin/nvcc --arch 75,80,90

The list of kernels is read from the symbols of the archive that simulates them on the CPU. Without --nvcc the compiler
is NVRTC 12, which still supports sm_70. pip downloads its packages into the work folder; if it can't, the exit code is
77 (skipped). It is an error if a kernel doesn't compile or needs more shared memory than sm_75 has.
"""
import argparse
import ctypes
import glob
import os
import re
import subprocess
import sys
import zipfile

PACKAGES = ["nvidia-cuda-nvrtc-cu12==12.9.86", "nvidia-cuda-runtime-cu12==12.9.79", "nvidia-cuda-nvcc-cu12==12.9.86"]
SKIPPED = 77
MOST_SHARED = 64 * 1024  # The shared memory of a block on sm_75, in bytes.

SOURCE = """#include "cuda/attention.h"
#include "cuda/elements.h"
#include "cuda/rows.h"

namespace LINFORMER_NAMESPACE::cuda {
template <class Kernel>
__global__ void __launch_bounds__(Kernel::threads, blocks_at_once<Kernel>()) run_kernel(const Kernel kernel) {
  extern __shared__ __align__(64) unsigned char bytes[];
  Block<Kernel::threads> block;
  kernel(block, *reinterpret_cast<typename Kernel::Shared*>(bytes));
}
"""


def skip(why):
    print("skipped: " + why)
    sys.exit(SKIPPED)


def without_version(symbols):
    return re.sub(r"\blinformer::v\w+::", "linformer::", symbols)


def kernels_of(archive):
    symbols = without_version(subprocess.run(["nm", "-C", archive], check=True, capture_output=True, text=True).stdout)
    names = set(re.findall(r"Stream::launch<linformer::cuda::(.*?) >\(linformer::cuda::", symbols))
    names |= set(re.findall(r"Stream::launch<linformer::cuda::(\w+)>\(linformer::cuda::", symbols))
    names = {name.replace("linformer::cuda::", "") for name in names}
    return sorted(name + " >" * (name.count("<") - name.count(">")) for name in names)


def source_of(kernels):
    lines = [SOURCE]
    for i, kernel in enumerate(kernels):
        lines.append(f"template __global__ void run_kernel<{kernel}>(const {kernel});")
        lines.append(f"extern __constant__ int shared_bytes_{i};")
        lines.append(f"__constant__ int shared_bytes_{i} = sizeof({kernel}::Shared);")
    return "\n".join(lines) + "\n}\n"


def fetch(work):
    if glob.glob(work + "/nvidia/cuda_nvrtc/lib/libnvrtc.so.12") and os.path.exists(work + "/nvidia/complete"):
        return
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check",
               "--only-binary=:all:", "--platform", "manylinux_2_17_x86_64", "--platform", "manylinux2014_x86_64",
               "--platform", "manylinux_2_12_x86_64", "--platform", "manylinux2010_x86_64", "--platform",
               "manylinux1_x86_64", "--dest", work] + PACKAGES
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    except (OSError, subprocess.TimeoutExpired) as error:
        skip(f"NVRTC 12 can't be fetched: {error}")
    if done.returncode != 0:
        skip("NVRTC 12 can't be fetched: " + (done.stderr.strip().splitlines() or ["no reason is known"])[-1])
    for wheel in glob.glob(work + "/nvidia_cuda_*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(work)
        os.remove(wheel)
    open(work + "/nvidia/complete", "w").close()


class Nvrtc:
    def __init__(self, work):
        folder = work + "/nvidia/cuda_nvrtc/lib"
        try:
            ctypes.CDLL(glob.glob(folder + "/libnvrtc-builtins.so.12*")[0])
            self.library = ctypes.CDLL(folder + "/libnvrtc.so.12")
        except (OSError, IndexError) as error:
            skip(f"NVRTC 12 can't be opened: {error}")

    def text(self, program, what):
        size = ctypes.c_size_t()
        getattr(self.library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value + 1)
        getattr(self.library, f"nvrtcGet{what}")(program, buffer)
        return buffer.value.decode(errors="replace")

    def compile(self, source, arch, options):
        program = ctypes.c_void_p()
        self.library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernels.cu", 0, None, None)
        options = [f"--gpu-architecture=sm_{arch}"] + options
        array = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
        status = self.library.nvrtcCompileProgram(program, len(options), array)
        log = self.text(program, "ProgramLog")
        if status != 0:
            sys.exit(f"sm_{arch}: NVRTC 12 can't compile the kernels\n{log}")
        return log, self.text(program, "PTX")


def usage(log):
    """Returns for each mangled name the registers and the spilled bytes (stores + loads)."""
    found, name = {}, None
    for line in log.splitlines():
        if match := re.search(r"(?:Compiling entry function|Function properties for) '?([\w$]+)'?", line):
            name = match.group(1)
        if name is None:
            continue
        entry = found.setdefault(name, [0, 0])
        if match := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line):
            entry[1] = int(match.group(1)) + int(match.group(2))
        if match := re.search(r"Used (\d+) registers", line):
            entry[0] = int(match.group(1))
    return {name: entry for name, entry in found.items() if entry[0] > 0}


def demangled(names):
    done = subprocess.run(["c++filt"], input="\n".join(names), check=True, capture_output=True, text=True)
    return [re.search(r"run_kernel<(?:linformer::cuda::)?(.*)>\(", line).group(1).strip().replace("linformer::cuda::", "")
            for line in without_version(done.stdout).splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--archive", required=True)
    parser.add_argument("--source", required=True, help="the repository")
    parser.add_argument("--work", required=True, help="a folder for downloads and results")
    parser.add_argument("--arch", default="70")
    parser.add_argument("--nvcc")
    flags = parser.parse_args()
    os.makedirs(flags.work, exist_ok=True)
    kernels = kernels_of(flags.archive)
    if len(kernels) < 30:
        sys.exit(f"{flags.archive}: only {len(kernels)} kernels were found in the symbols of this archive")
    source = source_of(kernels)
    includes = ["-I" + flags.source + "/runtime", "-I" + flags.source + "/runtime/include"]
    archs = flags.arch.split(",")
    shared, table = {}, {}
    if flags.nvcc:
        path = flags.work + "/kernels.cu"
        with open(path, "w") as file:
            file.write(source)
        for arch in archs:
            done = subprocess.run([flags.nvcc, "-std=c++20", "-cubin", f"-arch=sm_{arch}", "-Xptxas", "-v", "-o",
                                   flags.work + f"/kernels_{arch}.cubin", path] + includes,
                                  capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"sm_{arch}: nvcc can't compile the kernels\n{done.stderr}")
            table[arch] = usage(done.stderr)
        done = subprocess.run([flags.nvcc, "-std=c++20", "-ptx", f"-arch=sm_{archs[0]}", "-o", "-", path] + includes,
                              check=True, capture_output=True, text=True)
        ptx = done.stdout
        compiler = "nvcc"
    else:
        fetch(flags.work)
        nvrtc = Nvrtc(flags.work)
        folder = flags.work + "/nvidia/"
        options = ["-std=c++20", "-default-device", "-w", "--ptxas-options=-v", "-I" + flags.source + "/tests/cuda/nvrtc_headers"] + includes + [
            "-I" + folder + "cuda_runtime/include", "-I" + folder + "cuda_nvcc/include"]
        for arch in archs:
            log, ptx = nvrtc.compile(source, arch, options)
            table[arch] = usage(log)
        compiler = "NVRTC 12"
    for i, value in re.findall(r"shared_bytes_(\d+)\w* = (\d+)", ptx):
        shared[kernels[int(i)]] = int(value)
    names = sorted(table[archs[0]])
    spelled = dict(zip(names, demangled(names)))
    print(f"{compiler}: {len(kernels)} kernels; registers and spilled bytes for each architecture")
    print(f"{'kernel':44}{'shared':>8}" + "".join(f"{'sm_' + arch:>14}" for arch in archs))
    failed = 0
    for name in sorted(names, key=spelled.get):
        kernel = spelled[name]
        bytes_shared = shared.get(kernel, 0)
        cells = "".join(f"{table[arch][name][0]:>8}{table[arch][name][1]:>6}" for arch in archs)
        print(f"{kernel:44}{bytes_shared:>8}{cells}")
        failed += bytes_shared > MOST_SHARED
    for arch in archs:
        if len(table[arch]) != len(kernels):
            sys.exit(f"sm_{arch}: {len(table[arch])} kernels were compiled, not {len(kernels)}")
    if failed:
        sys.exit(f"{failed} kernels need more shared memory than the {MOST_SHARED} bytes of sm_75")


if __name__ == "__main__":
    main()
