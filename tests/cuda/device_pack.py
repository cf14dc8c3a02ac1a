"""Gathers in FOLDER what a build with CUDA needs in addition to this source tree and a CUDA toolkit; see device.sh.

    python3 tests/cuda/device_pack.py FOLDER

FOLDER/archives   the pinned archives of third_party/fetch.cmake, from the folder LINFORMER_DEPS_DIR, the projects'
                  pages, or Debian's archive; each must have its pinned SHA-256
FOLDER/prefix     headers and CMake packages of the libraries that programs and tests use, and zlib's static library,
                  from Debian's packages on this machine
FOLDER/xsimd      xsimd's headers from Debian's package on this machine, if its archive can't be downloaded
FOLDER/shared     the golden files of ../shared, if there are any
"""
import hashlib
import os
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request

MOST_BYTES = 40 << 20  # The limit of FOLDER and the source tree together.
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGES = ("doctest-dev", "nlohmann-json3-dev", "libcli11-dev", "zlib1g-dev")


def pinned():
    """Returns (library, page, [(archive, SHA-256), ...]) for each call of linformer_fetch()."""
    with open(os.path.join(SOURCE, "third_party", "fetch.cmake"), encoding="utf-8") as file:
        text = file.read()
    version = re.search(r"set\(flatbuffers_version ([\d.]+)\)", text).group(1)
    text = text.replace("${flatbuffers_version}", version)
    found = []
    for name, url, archives in re.findall(r"^\s*linformer_fetch\((\w+) (\S+)\s+([^)]*)\)", text, re.MULTILINE):
        words = archives.split()
        found.append((name, url, list(zip(words[::2], words[1::2]))))
    return found


def downloaded(url):
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.read()
    except (urllib.error.URLError, OSError):
        return None


def mirrors():
    """Returns the addresses of the Debian archives that this system's apt uses."""
    done = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)"], capture_output=True, text=True)
    return sorted(set(done.stdout.split()))


def archive_of(name, url, archives):
    """Returns (file name, bytes) of one of the pinned archives, or None if it can't be found anywhere."""
    folder = os.environ.get("LINFORMER_DEPS_DIR", "")
    for archive, sha256 in archives:
        pool = f"pool/main/{name[0]}/{name}/{archive}"
        places = [url] if archive == archives[0][0] else [mirror + pool for mirror in mirrors()]
        if os.path.isfile(os.path.join(folder, archive)):
            places.insert(0, "file://" + os.path.abspath(os.path.join(folder, archive)))
        for place in places:
            content = downloaded(place)
            if content is not None and hashlib.sha256(content).hexdigest() == sha256:
                return archive, content
    return None


def package_files(package):
    done = subprocess.run(["dpkg", "-L", package], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"device_pack.py: the package {package} is not installed; run: "
                 ". third_party/install.sh; linformer_install build test")
    return [path for path in done.stdout.splitlines() if os.path.isfile(path)]


def copy(path, to):
    os.makedirs(os.path.dirname(to), exist_ok=True)
    shutil.copyfile(path, to)


def relocate(path, prefix):
    """Replaces /usr by `prefix` in a copied CMake file. Debian's file for doctest names /usr, and the machine with the
    GPU has no doctest there."""
    up = os.path.relpath(prefix, os.path.dirname(path))
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace('"/usr"', f'"${{CMAKE_CURRENT_LIST_DIR}}/{up}"'))


def stage(package, prefix):
    """Copies the package's headers, CMake files and static libraries. Libraries go to lib/ instead of Debian's
    architecture folder."""
    for path in package_files(package):
        inside = re.fullmatch(r"/usr/(include/.*|lib/cmake/.*|share/cmake/.*)", path)
        library = re.fullmatch(r"/usr/lib/[^/]*/(lib[^/]*\.a)", path)
        if inside:
            copy(path, os.path.join(prefix, inside.group(1)))
            if path.endswith(".cmake"):
                relocate(os.path.join(prefix, inside.group(1)), prefix)
        elif library:
            copy(path, os.path.join(prefix, "lib", library.group(1)))


def size_of(folder):
    return sum(os.path.getsize(os.path.join(root, name)) for root, _, names in os.walk(folder) for name in names)


def tree_size():
    listed = subprocess.run(["git", "-C", SOURCE, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            capture_output=True, text=True, check=True).stdout
    paths = (os.path.join(SOURCE, name) for name in listed.split("\0") if name)
    return sum(os.path.getsize(path) for path in paths if os.path.isfile(path))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = sys.argv[1]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, "archives"))
    for name, url, archives in pinned():
        found = archive_of(name, url, archives)
        if found:
            with open(os.path.join(folder, "archives", found[0]), "wb") as file:
                file.write(found[1])
            print(f"{name}: {found[0]}")
        elif name == "xsimd":
            stage("libxsimd-dev", os.path.join(folder, "xsimd"))
            print("xsimd: the headers of this system's package, since no place has the pinned archive")
        else:
            sys.exit(f"device_pack.py: no place has {archives[0][0]} with its pinned SHA-256: put it into a folder and "
                     "set LINFORMER_DEPS_DIR to that folder")
    for package in PACKAGES:
        stage(package, os.path.join(folder, "prefix"))
        print(f"{package}: from this system")
    golden = os.path.join(SOURCE, "..", "shared", "golden")
    if os.path.isdir(golden):
        shutil.copytree(golden, os.path.join(folder, "shared", "golden"), copy_function=shutil.copyfile)
        print("golden files: from beside the source tree")
    packed, tree = size_of(folder), tree_size()
    print(f"{folder}: {packed / 1e6:.1f} MB, with the source tree {(packed + tree) / 1e6:.1f} MB")
    if packed + tree > MOST_BYTES:
        sys.exit(f"device_pack.py: the folder and the source tree are more than {MOST_BYTES / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
