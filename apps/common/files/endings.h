// Checks that the ending of an output's name agrees with the format that is written.
#pragma once

#include <string>

namespace linformer::files {

// The formats of output files, whose names the user chooses.
enum class FileFormat { model, safetensors, npy, json_lines, csv, tsv, text, svg, html };

// Compares the ending of `path` with `format`, which the program will write to it. If the ending belongs to another
// format, returns an error message with the right ending, such as "emb.csv would hold an array (npy) and not CSV: end
// its name in .npy". Otherwise returns an empty string. Also returns an empty string if the ending is unknown, if there
// is no ending, and if the output is standard output, a device or a FIFO. Never throws.
std::string wrong_ending_message(const std::string& path, FileFormat format);

}  // namespace linformer::files
