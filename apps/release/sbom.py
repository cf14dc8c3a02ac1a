"""The list of what is in the archives of a release: SPDX 2.3 as JSON."""
import datetime
import json
import re
import uuid

# SPDX's names of the licences of third_party/README.md.
LICENCES = {"xsimd": "BSD-3-Clause", "xxhash": "BSD-2-Clause", "utf8proc": "MIT AND Unicode-DFS-2015",
            "flatbuffers": "Apache-2.0", "zlib": "Zlib", "cli11": "BSD-3-Clause", "nlohmann_json": "MIT"}
TESTS_ALONE = {"doctest"}  # in no archive
FETCH = re.compile(r"linformer_fetch\((\w+)\s+(\S+)\s+(\S+?)-?([0-9][0-9.]*)\.tar\.\w+\s+([0-9a-f]{64})")


def pinned_libraries(root):
    """(name, version, address, SHA-256) of each library that third_party pins."""
    found = []
    for path in sorted((root / "third_party").glob("fetch*.cmake")):
        text = path.read_text(encoding="utf-8")
        for name, value in re.findall(r"set\((\w+_version) ([0-9.]+)\)", text):
            text = text.replace("${" + name + "}", value)
        found += [(m[1], m[4], m[2], m[5]) for m in FETCH.finditer(text) if m[1] not in TESTS_ALONE]
    if {name for name, *_ in found} != set(LICENCES):
        raise ValueError("third_party pins other libraries than those of which sbom.py knows the licence")
    return found


def package(name, version, address, licence, sha256):
    entry = {"SPDXID": f"SPDXRef-{name}", "name": name, "versionInfo": version, "downloadLocation": address,
             "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence,
             "copyrightText": "NOASSERTION"}
    if sha256:
        entry["checksums"] = [{"algorithm": "SHA256", "checksumValue": sha256}]
    return entry


def document(version, seconds, libraries):
    packages = [package("linformer", version, "NOASSERTION", "Apache-2.0", None)]
    packages += [package(name, number, address, LICENCES[name], sha256) for name, number, address, sha256 in libraries]
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                  "relatedSpdxElement": "SPDXRef-linformer"}]
    relations += [{"spdxElementId": "SPDXRef-linformer", "relationshipType": "STATIC_LINK",
                   "relatedSpdxElement": f"SPDXRef-{name}"} for name, *_ in libraries]
    made = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    # A name of its own for each version and time, and the same one for the same release.
    name = uuid.uuid5(uuid.NAMESPACE_URL, f"linformer {version} {seconds}")
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"linformer-{version}", "documentNamespace": f"urn:uuid:{name}",
            "creationInfo": {"created": made, "creators": ["Tool: apps/release/sbom.py"]},
            "packages": packages, "relationships": relations}


def write(path, version, seconds, root):
    path.write_text(json.dumps(document(version, seconds, pinned_libraries(root)), indent=2) + "\n", encoding="utf-8")
