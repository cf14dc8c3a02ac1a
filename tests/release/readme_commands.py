#!/usr/bin/env python3
"""Prints the commands of the README's section "Three ways in" as a script that stops at the first failure.

A command that downloads something is printed as a comment, and its files must already exist.
"""
import re
import sys


def commands(text):
    section = re.search(r"\n## Three ways in\n(.*?)\n## ", text, re.DOTALL).group(1)
    for found in re.finditer(r"^    \$ ((?:.*\\\n)*.*)$", section, re.MULTILINE):
        yield found.group(1)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        found = list(commands(file.read()))
    if len(found) < 8:
        sys.exit(f"only {len(found)} commands were found in {sys.argv[1]}: its form has changed")
    print("set -ev")
    for command in found:
        print("# " + command if command.startswith("hf download") else command)


if __name__ == "__main__":
    main()
