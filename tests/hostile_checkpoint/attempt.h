// Reads and converts one hostile file. The result must be a clear error or a correct reading.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace linformer_test {

// The contents of a checkpoint, for comparison: names with shapes, and every value that can be read as f32.
struct Contents {
  std::vector<std::string> names;
  std::vector<std::vector<float>> values;
  bool operator==(const Contents&) const = default;
};

// Reads all tensors. Throws the errors of the readers.
Contents read_contents(const std::string& file);

// The totals of one kind of alteration. The destructor prints them.
class Attempts {
 public:
  explicit Attempts(const char* kind) : kind_(kind) {}
  ~Attempts();

  // Reads `file`. If `convert` is true, also converts and serialises it. Fails the doctest case if the error's message
  // is not printable ASCII of 21 to 1,999 characters, or if an exception is thrown that is not one of the project's own
  // errors. `what` names the alteration. Returns the error's message, or "" after success.
  std::string attempt(const std::string& file, bool convert, const std::string& what);
  uint64_t errors() const { return errors_; }
  // Returns the contents of the last file that was read without an error.
  const Contents& contents() const { return contents_; }

 private:
  const char* kind_;
  uint64_t errors_ = 0, successes_ = 0;
  Contents contents_;
};

}  // namespace linformer_test
