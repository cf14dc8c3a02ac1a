// A program that links two versions of the library. Both must give the same results for a model file, and the same
// error for bytes that are no model file.
#include "two_versions.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

namespace {

bool same(const Answer& a, const Answer& b) {
  if (a.error != b.error || a.probabilities.size() != b.probabilities.size()) return false;
  for (size_t i = 0; i < a.probabilities.size(); ++i) {
    // One version is compiled without optimisation, and may sum in another order.
    if (!(std::abs(a.probabilities[i] - b.probabilities[i]) <= 1e-6f)) return false;
  }
  return true;
}

int failed(const char* what, const Answer& a, const Answer& b) {
  std::printf("%s: %s answers %zu probabilities, '%s'; %s answers %zu, '%s'\n", what, a.version_namespace.c_str(),
              a.probabilities.size(), a.error.c_str(), b.version_namespace.c_str(), b.probabilities.size(),
              b.error.c_str());
  return 1;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  std::ifstream in(arguments[1], std::ios::binary);
  const std::vector<char> file((std::istreambuf_iterator<char>(in)), {});
  const std::span<const std::byte> bytes = std::as_bytes(std::span<const char>(file));
  Answer first = run_first_version(bytes), second = run_second_version(bytes);
  if (first.version_namespace == second.version_namespace) return failed("the same version twice", first, second);
  if (first.probabilities.size() != 3 || !first.error.empty() || !same(first, second)) {
    return failed("a model", first, second);
  }
  const std::vector<char> rubbish(4096, 'x');
  first = run_first_version(std::as_bytes(std::span<const char>(rubbish)));
  second = run_second_version(std::as_bytes(std::span<const char>(rubbish)));
  if (first.error.empty() || !same(first, second)) return failed("rubbish", first, second);
  std::printf("%s and %s agree; of rubbish: %s\n", first.version_namespace.c_str(), second.version_namespace.c_str(),
              first.error.c_str());
}
