// One hostile file goes through reader and converter: a clear error, or a correct reading.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace linformer_test {

// What a checkpoint holds, for comparison: names, shapes and every value that can be read as f32.
struct Contents {
  std::vector<std::string> names;
  std::vector<std::vector<float>> values;
  bool operator==(const Contents&) const = default;
};

// Reads all of the tensors. Throws what the readers throw.
Contents read_contents(const std::string& file);

// Totals of one kind of alteration; prints them when it goes.
class Attempts {
 public:
  explicit Attempts(const char* kind) : kind_(kind) {}
  ~Attempts();

  // Reads, and where `convert` is set also converts and serialises, `file`. Fails the doctest case when the error's
  // sentence is not printable text of some length, or anything but the project's own errors is thrown. `what` names
  // the alteration. Returns the sentence, empty after success.
  std::string attempt(const std::string& file, bool convert, const std::string& what);
  uint64_t errors() const { return errors_; }
  // Of the last success.
  const Contents& contents() const { return contents_; }

 private:
  const char* kind_;
  uint64_t errors_ = 0, successes_ = 0;
  Contents contents_;
};

}  // namespace linformer_test
