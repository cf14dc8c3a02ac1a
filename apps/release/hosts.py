"""The hosts that a release has archives for."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Host:
    name: str
    target: str  # The target of zig.
    # The compiler of the static library, or "" for zig. C++ programs can link the static library only if both use the
    # same C++ standard library. On Linux with glibc that is usually g++'s libstdc++, but zig uses clang's libc++.
    library_compiler: str = ""


# Debian 10 and Red Hat Enterprise Linux 8 have glibc 2.28, so the archives for glibc run there and on newer systems.
HOSTS = {host.name: host for host in (
    Host("linux-x86_64", "x86_64-linux-gnu.2.28", "g++"),
    Host("linux-aarch64", "aarch64-linux-gnu.2.28", "aarch64-linux-gnu-g++"),
    Host("linux-x86_64-musl", "x86_64-linux-musl"),
    Host("linux-aarch64-musl", "aarch64-linux-musl"),
    Host("windows-x86_64", "x86_64-windows-gnu"),
    Host("macos-aarch64", "aarch64-macos.13.0"),
    Host("macos-x86_64", "x86_64-macos.13.0"),
)}
