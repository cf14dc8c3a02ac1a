// Finds out what an output path names.
#pragma once

#include <string>

namespace linformer::files {

struct OutputTarget {
  enum class Kind {
    file,        // A file that is replaced as a whole. The last component of `path` is not a symbolic link.
    descriptor,  // An open descriptor of the process, such as standard output. `descriptor` is its number.
    stream       // `path` is opened and written to: a character device, a FIFO or another process's descriptor.
  };
  Kind kind = Kind::file;
  std::string path;
  int descriptor = -1;
};

// Returns what the path names; "-" is standard output. Follows symbolic links, also to files that don't exist yet.
// Throws WriteError for a folder, a block device, a socket and a cycle of links.
OutputTarget output_target(const std::string& path);

// Returns whether the path is standard output, such as "-" or /dev/stdout. Never throws.
bool is_standard_output(const std::string& path);

}  // namespace linformer::files
