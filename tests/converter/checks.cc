#include "converter/checks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/description.h"
#include "converter/dialects/dialect.h"
#include "support/files.h"

namespace linformer_test {

int check_golden_case(const std::string& folder, const std::function<Converted(const GoldenFile&)>& convert) {
  if (!std::filesystem::exists(folder)) return 0;
  CAPTURE(folder);
  GoldenFile file;
  file.meta = nlohmann::json::parse(read_file(folder + "/meta.json"));
  std::optional<Converted> first;
  int files = 0;
  for (const char* name : {"checkpoint.pt", "checkpoint_legacy.pt", "checkpoint.safetensors"}) {
    file.name = name;
    file.bytes = read_file(folder + "/" + name);
    if (file.bytes.empty()) continue;
    CAPTURE(file.name);
    Converted model = convert(file);
    if (first) {
      const std::span<const std::byte> a = first->file, b = model.file;
      CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end()));
    } else {
      first = std::move(model);
    }
    ++files;
  }
  CHECK(files > 0);
  return files;
}

void check_recognised_alone(const std::string& checkpoint, const std::string& dialect) {
  const auto opened = linformer::convert::Checkpoint::open(as_bytes(checkpoint), "memory");
  for (const linformer::convert::Dialect* candidate : linformer::convert::dialects()) {
    CAPTURE(std::string(candidate->name()));
    CHECK((candidate->recognise(opened).score > 0) == (candidate->name() == dialect));
  }
}

void check_values(const Converted& model, linformer::TensorIndex index, const HandTensor& tensor) {
  CAPTURE(tensor.name);
  REQUIRE(index != linformer::absent);
  CHECK(model.values(index) == std::vector<float>(tensor.values.begin(), tensor.values.end()));
}

void check_sentence(const std::string& sentence, const std::vector<std::string>& parts) {
  CAPTURE(sentence);
  for (const std::string& part : parts) {
    CAPTURE(part);
    CHECK(contains(sentence, part));
  }
}

}  // namespace linformer_test
