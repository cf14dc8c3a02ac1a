// A ModelDescription as the bytes of the metadata section.
#pragma once

#include <cstddef>
#include <vector>

#include "base/description.h"
#include "converter/writer/origin.h"

namespace linformer::writer {

// Deterministic: equal descriptions give equal bytes (with one version of flatbuffers). Every field is written, also
// those that hold their default, so that a file means the same whatever a later schema's defaults are.
// Throws WriteError when it would exceed the format's 2 GiB.
std::vector<std::byte> serialize_metadata(const ModelDescription& model, const Origin& origin = {});

}  // namespace linformer::writer
