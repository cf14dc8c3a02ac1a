// Checks that the ending of an output's name agrees with the format that is written.
#pragma once

#include <string>

namespace linformer::files {

// The formats of output files, whose names the user chooses.
enum class FileFormat { model, safetensors, npy, json_lines, csv, svg, html };

// Returns an error message that names the right ending where the ending of `path` stands for another format than
// `format`, such as "emb.csv would hold an array (npy) and not CSV: end its name in .npy". Returns an empty string
// where the two agree, where there is no ending or an unknown one, and where `path` is standard output, a device or a
// FIFO. Never throws.
std::string contradicted_ending(const std::string& path, FileFormat format);

}  // namespace linformer::files
