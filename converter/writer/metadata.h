// Writes a ModelDescription as the metadata section of a model file.
#pragma once

#include <cstddef>
#include <vector>

#include "base/description.h"
#include "converter/writer/origin.h"

namespace linformer::writer {

// Returns the bytes of the metadata section. Equal descriptions give equal bytes with the same version of flatbuffers.
// Fields that hold their default are also written, so that a later schema with other defaults can't change the meaning
// of a file. Throws WriteError if the section would be too large for the format.
std::vector<std::byte> serialize_metadata(const ModelDescription& model, const Origin& origin = {});

}  // namespace linformer::writer
