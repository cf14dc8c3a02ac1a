"""Collects the licences of the libraries whose code is compiled into the archives of a release."""
import pathlib
import shutil

# The libraries that are compiled into a release, with SPDX's names of the licences in third_party/README.md.
LIBRARIES = {"xsimd": "BSD-3-Clause", "xxhash": "BSD-2-Clause", "utf8proc": "MIT AND Unicode-DFS-2015",
             "flatbuffers": "Apache-2.0", "zlib": "Zlib", "cli11": "BSD-3-Clause", "nlohmann_json": "MIT"}
OF_PROGRAMS_ALONE = {"zlib", "cli11", "nlohmann_json"}
# The C and C++ libraries that zig links into programs and shared libraries, with the licence and its file in zig.
OF_ZIG = {"libcxx": ("Apache-2.0 WITH LLVM-exception", "libcxx/LICENSE.TXT"),
          "libcxxabi": ("Apache-2.0 WITH LLVM-exception", "libcxxabi/LICENSE.TXT"),
          "libunwind": ("Apache-2.0 WITH LLVM-exception", "libunwind/LICENSE.TXT"),
          "musl": ("MIT", "libc/musl/COPYRIGHT"),
          "mingw-w64": ("ZPL-2.1", "libc/mingw/COPYING")}


def of_zig(target):
    """Returns the names of zig's libraries that are linked into files for this target."""
    system = {"musl": {"musl"}, "windows": {"mingw-w64"}}
    names = set() if "macos" in target else {"libcxx", "libcxxabi", "libunwind"}
    return names.union(*(found for word, found in system.items() if word in target))


def source_folder(build, name):
    """Returns the folder of a library's source: the one in the build's cache, or the one of FetchContent."""
    for line in (build / "CMakeCache.txt").read_text(encoding="utf-8").splitlines():
        if line.upper().startswith(f"FETCHCONTENT_SOURCE_DIR_LINFORMER_{name.upper()}:") and line.split("=", 1)[1]:
            return pathlib.Path(line.split("=", 1)[1])
    return build / "_deps" / f"linformer_{name}-src"


def licence_file(folder):
    files = sorted(path for path in folder.glob("LICENSE*") if path.is_file())
    if not files:
        raise FileNotFoundError(f"{folder} has no file LICENSE")
    return files[0]


def write(build, zig, target, programs, to):
    """Copies the licences into the folder `to`, one file for each library.

    `programs` is True for the archive of the programs and False for the archive of the library.
    """
    to.mkdir(parents=True, exist_ok=True)
    for name in LIBRARIES:
        if programs or name not in OF_PROGRAMS_ALONE:
            shutil.copyfile(licence_file(source_folder(build, name)), to / name)
    for name in of_zig(target):
        shutil.copyfile(zig.parent / "lib" / OF_ZIG[name][1], to / name)
