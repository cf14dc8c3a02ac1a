"""The hosts that a release has archives for."""
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Host:
    name: str
    target: str  # of zig
    options: tuple = field(default=())  # of CMake


# glibc 2.28 is that of Debian 10 and Red Hat 8. A program that is linked statically with musl can't open the libraries
# of backends; it needs no library at all.
HOSTS = {host.name: host for host in (
    Host("linux-x86_64", "x86_64-linux-gnu.2.28"),
    Host("linux-aarch64", "aarch64-linux-gnu.2.28"),
    Host("linux-x86_64-musl", "x86_64-linux-musl"),
    Host("linux-aarch64-musl", "aarch64-linux-musl"),
    Host("windows-x86_64", "x86_64-windows-gnu"),
    Host("macos-aarch64", "aarch64-macos"),
    Host("macos-x86_64", "x86_64-macos"),
)}
