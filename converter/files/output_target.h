// What a path of the command line means as an output.
#pragma once

#include <string>

namespace linformer::files {

struct OutputTarget {
  enum class Kind {
    file,        // to be replaced as a whole: `path` is free of links at its end
    descriptor,  // one that the process has, such as standard output: `descriptor`
    stream       // a character device or a FIFO, opened at `path`
  };
  Kind kind = Kind::file;
  std::string path;
  int descriptor = -1;
};

// "-" is standard output. Follows symbolic links, also to names that don't exist yet.
// Throws WriteError where nothing can be written: a folder, a block device, a socket, links without end.
OutputTarget output_target(const std::string& path);

// Whether the bytes would go to standard output: "-", /dev/stdout and the like. Never throws.
bool is_standard_output(const std::string& path);

}  // namespace linformer::files
