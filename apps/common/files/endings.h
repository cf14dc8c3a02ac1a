// Checks that the ending of an output's name agrees with the format that is written.
#pragma once

#include <string>

namespace linformer::files {

// The formats of output files, whose names the user chooses.
enum class FileFormat { model, safetensors, npy, json_lines, csv, tsv, text, svg, html };

// Checks that the ending of `path` does not stand for another format than `format`. If it does, an error message with
// the right ending is returned, such as "emb.csv would hold an array (npy) and not CSV: end its name in .npy". The
// result is an empty string if the two agree, if `path` has no ending or an unknown one, and if it is standard output,
// a device or a FIFO. Never throws.
std::string contradicted_ending(const std::string& path, FileFormat format);

}  // namespace linformer::files
