"""Writes the list of the libraries in the archives of a release, as JSON in the format SPDX 2.3."""
import datetime
import json
import re
import uuid

from notices import LIBRARIES, OF_ZIG

TESTS_ALONE = {"doctest"}  # Libraries that are in no archive.
FETCH = re.compile(r"linformer_fetch\((\w+)\s+(\S+)\s+(\S+?)-?([0-9][0-9.]*)\.tar\.\w+\s+([0-9a-f]{64})")


def pinned_libraries(root):
    """Returns (name, version, address, SHA-256) of each library that third_party pins."""
    found = []
    for path in sorted((root / "third_party").glob("fetch*.cmake")):
        text = path.read_text(encoding="utf-8")
        for name, value in re.findall(r"set\((\w+_version) ([0-9.]+)\)", text):
            text = text.replace("${" + name + "}", value)
        found += [(m[1], m[4], m[2], m[5]) for m in FETCH.finditer(text) if m[1] not in TESTS_ALONE]
    if {name for name, *_ in found} != set(LIBRARIES):
        raise ValueError("third_party/fetch*.cmake and LIBRARIES in notices.py don't name the same libraries")
    return found


def reference(name):
    return "SPDXRef-" + name.replace("_", "-")  # SPDX permits only letters, digits, dots and dashes.


def package(name, version, address, licence, sha256):
    entry = {"SPDXID": reference(name), "name": name, "versionInfo": version, "downloadLocation": address,
             "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence,
             "copyrightText": "NOASSERTION"}
    if sha256:
        entry["checksums"] = [{"algorithm": "SHA256", "checksumValue": sha256}]
    return entry


def document(version, seconds, libraries, zig_version):
    packages = [package("linformer", version, "NOASSERTION", "Apache-2.0", None)]
    packages += [package(name, number, address, LIBRARIES[name], sha256) for name, number, address, sha256 in libraries]
    names = [name for name, *_ in libraries]
    if zig_version:
        names += OF_ZIG
        packages += [package(name, f"of zig {zig_version}", "NOASSERTION", licence, None)
                     for name, (licence, _) in OF_ZIG.items()]
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                  "relatedSpdxElement": "SPDXRef-linformer"}]
    relations += [{"spdxElementId": "SPDXRef-linformer", "relationshipType": "STATIC_LINK",
                   "relatedSpdxElement": reference(name)} for name in names]
    made = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    # The name is different for each version and time, but the same in every build of a release.
    name = uuid.uuid5(uuid.NAMESPACE_URL, f"linformer {version} {seconds}")
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"linformer-{version}", "documentNamespace": f"urn:uuid:{name}",
            "creationInfo": {"created": made, "creators": ["Tool: apps/release/sbom.py"]},
            "packages": packages, "relationships": relations}


def write(path, version, seconds, root, zig_version):
    """Writes the list. `zig_version` is empty if nothing was built with zig."""
    made = document(version, seconds, pinned_libraries(root), zig_version)
    path.write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
