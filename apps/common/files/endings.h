// Checks that the ending of an output's name agrees with the format that is written.
#pragma once

#include <string>

namespace linformer::files {

// The formats of output files, whose names the user chooses.
enum class FileFormat { model, safetensors, npy, json_lines, csv, tsv, text, svg, html };

// Compares the ending of `path` with the format that is written to it. If the ending belongs to another format, the
// result is an error message with the right ending, such as "emb.csv would hold an array (npy) and not CSV: end its
// name in .npy". Otherwise the result is empty, as it is for an unknown ending, no ending, standard output, a device
// and a FIFO. Never throws.
std::string contradicted_ending(const std::string& path, FileFormat format);

}  // namespace linformer::files
