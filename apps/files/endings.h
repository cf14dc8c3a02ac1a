// What the ending of a file's name says is in it.
#pragma once

#include <string>

namespace linformer::files {

// The formats of output files, whose names the user chooses.
enum class FileFormat { model, safetensors, npy, json_lines, csv, svg, html };

// Where the ending of `path` says something else than `format`, one sentence that names the right ending, such as
// "emb.csv would hold an array (npy) and not CSV: end its name in .npy". Empty where the two agree, where there is no
// ending or one that nobody here knows, and where nothing is put under that name: standard output, a device, a FIFO.
// Never throws.
std::string contradicted_ending(const std::string& path, FileFormat format);

}  // namespace linformer::files
