// Tests the exporter on files whose record of the checkpoint is hostile. The result must be a clear error or a valid
// safetensors file.
#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "base/description.h"
#include "converter/checkpoint_writer.h"
#include "converter/conversion.h"
#include "converter/export/export_model.h"
#include "converter/export/source_tensors.h"
#include "converter/readers/error.h"
#include "converter/tiny_fairseq.h"
#include "converter/writer/metadata.h"
#include "support/temporary_folder.h"
#include "hostile_model/hostile_file.h"
#include "hostile_model/metadata_fields.h"
#include "model/limits.h"
#include "support/allocations.h"

namespace linformer_test::export_test {

using namespace linformer;
using convert::Checkpoint;

namespace {

// The bytes that loading may allocate beyond the file's size, and those of the names in the report.
constexpr uint64_t allocation_constant = description_allowance + max_tensors * sizeof(uint32_t) + (64u << 10);

class SmallModel {
 public:
  SmallModel() {
    TinyFairseq tiny;
    tiny.layers = 1;
    tiny.masked_lm = false;
    file_ = converted(torch_zip(tiny.tensors(), tiny.settings())).file;
    const Container container = parse_container(file_).value();
    metadata_.assign(container.metadata.begin(), container.metadata.end());
    tensors_ = container.tensors;
  }
  std::vector<std::byte>& metadata() { return metadata_; }
  std::span<const std::byte> tensors() const { return tensors_; }
  // Returns the altered file with right checksums.
  writer::AlignedBytes altered() const { return assemble(metadata_, tensors_); }

 private:
  writer::AlignedBytes file_;
  std::vector<std::byte> metadata_;
  std::span<const std::byte> tensors_;
};

class Exports {
 public:
  explicit Exports(const char* kind) : kind_(kind) {}
  ~Exports() {
    std::printf("%-40s %6d errors, %6d exported, at most %llu bytes allocated\n", kind_, errors_, exported_,
                static_cast<unsigned long long>(peak_));
  }

  // Returns true if the file was exported. Checks that the export is then valid.
  bool attempt(std::span<const std::byte> file, const std::function<std::string()>& what) {
    const AllocationPeak peak;
    std::string sentence;
    try {
      convert::export_model(file, [](std::span<const std::byte>) {});
    } catch (const convert::Error& error) {
      sentence = error.what();
    }
    const uint64_t bytes = peak.bytes();
    peak_ = std::max(peak_, bytes);
    if (bytes > (convert::export_growth + 1) * file.size() + allocation_constant) {
      FAIL_CHECK(what() << " allocated " << bytes << " bytes");
    }
    if (!sentence.empty()) {
      ++errors_;
      if (sentence.size() < 20) FAIL_CHECK(what() << " gave the error \"" << sentence << "\"");
      return false;
    }
    ++exported_;
    check_sound(file, what);
    return true;
  }
  int errors() const { return errors_; }
  int exported() const { return exported_; }

 private:
  static void check_sound(std::span<const std::byte> file, const std::function<std::string()>& what) {
    std::string bytes;
    const convert::ExportReport report = convert::export_model(file, [&](std::span<const std::byte> piece) {
      bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    });
    try {
      const Checkpoint checkpoint = Checkpoint::open(as_bytes(bytes), "exported");
      if (checkpoint.tensors.size() != report.rows.size()) FAIL_CHECK(what() << " lost a tensor");
    } catch (const convert::Error& error) {
      FAIL_CHECK(what() << " was exported to a file that can't be read: " << error.what());
    }
  }

  const char* kind_;
  int errors_ = 0, exported_ = 0;
  uint64_t peak_ = 0;
};

uint64_t load_number(const std::byte* at, size_t bytes) {
  uint64_t value = 0;
  std::memcpy(&value, at, bytes);
  return value;
}

std::string refused(const writer::Origin& origin, const std::function<void(ModelDescription&)>& change = {}) {
  TinyModel tiny;
  tiny.builder.serialize();
  if (change) change(tiny.builder.description);
  const HostileFile file;
  const writer::AlignedBytes bytes =
      assemble(writer::serialize_metadata(tiny.builder.description, origin), file.tensors());
  try {
    convert::export_model(bytes, [](std::span<const std::byte>) {});
    return "";
  } catch (const convert::Error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("export: metadata with any byte altered gives an error or a valid file, with right checksums") {
  SmallModel model;
  Exports exports("export: metadata byte altered");
  CHECK(exports.attempt(model.altered(), [] { return std::string("unaltered"); }));
  for (size_t at = 0; at < model.metadata().size(); ++at) {
    for (const int mask : {0xff, 1 << at % 8}) {
      model.metadata()[at] ^= static_cast<std::byte>(mask);
      exports.attempt(model.altered(), [&] { return "metadata byte " + std::to_string(at); });
      model.metadata()[at] ^= static_cast<std::byte>(mask);
    }
  }
  CHECK(exports.errors() > 1000);
  CHECK(exports.exported() > 100);
}

TEST_CASE("export: sources with any number set to an extreme give an error or a valid file, with right checksums") {
  SmallModel model;
  Exports exports("export: number of the sources");
  int numbers = 0;
  const writer::AlignedBytes whole = model.altered();
  for (const MetadataField& field : metadata_fields(parse_container(whole).value().metadata)) {
    if (!field.path.starts_with("sources")) continue;
    ++numbers;
    std::byte* at = model.metadata().data() + field.offset;
    const uint64_t value = load_number(at, field.bytes);
    const uint64_t sign = uint64_t{1} << (8 * field.bytes - 1);
    for (const uint64_t hostile : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}, sign, sign - 1, value + 1, value - 1,
                                   value * 2, uint64_t{1} << 20, uint64_t{1} << 40, uint64_t{1} << 61}) {
      std::memcpy(at, &hostile, field.bytes);
      exports.attempt(model.altered(), [&] { return field.path + " = " + std::to_string(hostile); });
    }
    std::memcpy(at, &value, field.bytes);
  }
  std::printf("numbers of the sources: %d\n", numbers);
  CHECK(numbers > 200);
  CHECK(exports.errors() > 1000);
}

TEST_CASE("export: a file with one defect is refused") {
  const auto whole = [](const std::string& name) {
    return writer::SourceTensor{name, {64, 16}, {{0, 0, 64, 0, {16, 1}}}};
  };
  // Tensor 0 of the tiny model is [64, 16].
  CHECK(refused({{whole("a")}, "{}"}).empty());
  const auto one = [&](const std::function<void(writer::SourceTensor&)>& change) {
    writer::SourceTensor tensor = whole("a");
    change(tensor);
    return refused({{tensor}, "{}"});
  };
  using Source = writer::SourceTensor;
  const std::pair<const char*, std::function<void(Source&)>> defects[] = {
      {"has no name", [](Source& t) { t.name.clear(); }},
      {"longer than", [](Source& t) { t.name = std::string(2000, 'x'); }},
      {"not text", [](Source& t) { t.name = "\xff"; }},
      {"not text", [](Source& t) { t.name = std::string("a\0b", 3); }},
      {"a name that safetensors reserves", [](Source& t) { t.name = "__metadata__"; }},
      {"dimension of 0",
       [](Source& t) {
         t.shape = {0, 16};
       }},
      {"can't be right", [](Source& t) { t.shape = {uint64_t{1} << 40}; }},
      {"can't be right",
       [](Source& t) {
         t.shape = {uint64_t{1} << 33, uint64_t{1} << 33};
       }},
      {"9 dimensions", [](Source& t) { t.shape = std::vector<uint64_t>(9, 1); }},
      {"reaches further",
       [](Source& t) {
         t.shape = {63, 16};
       }},
      {"no pieces", [](Source& t) { t.pieces.clear(); }},
      {"tensor -1 of the model", [](Source& t) { t.pieces[0].tensor = -1; }},
      {"tensor 9999 of the model", [](Source& t) { t.pieces[0].tensor = 9999; }},
      {"65 rows from row 0", [](Source& t) { t.pieces[0].rows = 65; }},
      {"0 rows from row 0", [](Source& t) { t.pieces[0].rows = 0; }},
      {"64 rows from row 1", [](Source& t) { t.pieces[0].first_row = 1; }},
      {"rows from row 1844", [](Source& t) { t.pieces[0].first_row = ~uint64_t{0}; }},
      {"reaches further", [](Source& t) { t.pieces[0].offset = 1; }},
      {"reaches further", [](Source& t) { t.pieces[0].offset = ~uint64_t{0}; }},
      {"reaches further",
       [](Source& t) {
         t.pieces[0].strides = {17, 1};
       }},
      {"reaches further",
       [](Source& t) {
         t.pieces[0].strides = {~uint64_t{0}, ~uint64_t{0}};
       }},
      {"1 dimensions", [](Source& t) { t.pieces[0].strides = {1}; }},
      {"5 dimensions", [](Source& t) { t.pieces[0].strides = std::vector<uint64_t>(5, 1); }},
      {"twice, the second time from",
       [](Source& t) {
         t.pieces[0].strides = {15, 1};
       }},
      {"twice, the second time from",
       [](Source& t) {
         t.pieces[0].strides = {0, 0};
       }},
      {"some overlap", [](Source& t) { t.pieces.push_back(t.pieces[0]); }}};
  for (const auto& defect : defects) {
    const auto& sentence = defect.first;
    const auto& change = defect.second;
    CAPTURE(std::string(sentence));
    const std::string error = one(change);
    CAPTURE(error);
    CHECK(contains(error, sentence));
  }
  CHECK(contains(refused({{}, "{}"}), "does not say where"));
  CHECK(contains(refused({{whole("a"), whole("a")}, "{}"}), "twice"));
  CHECK(contains(refused({{whole("a")}, "[]"}), "not a JSON object"));
  CHECK(contains(refused({{whole("a")}, "{"}), "JSON"));
  CHECK(contains(refused({{whole("a")}, "{\"a\": \"\xff\"}"}), "JSON"));
  // Each tensor alone could be right, but all of them together can't.
  std::vector<writer::SourceTensor> many;
  for (int i = 0; i < 20000; ++i) many.push_back(whole("tensor " + std::to_string(i)));
  CHECK(refused({many, "{}"}).empty());
  for (writer::SourceTensor& tensor : many) tensor.shape = {6400, 160};
  CHECK(contains(refused({many, "{}"}), "64 times the size"));
}

TEST_CASE("export: an error leaves no file") {
  const TemporaryFolder folder;
  SmallModel model;
  const std::string path = folder.path("model.lnfr"), out = folder.path("out.safetensors");
  const writer::AlignedBytes whole = model.altered();
  int errors = 0;
  for (const MetadataField& field : metadata_fields(parse_container(whole).value().metadata)) {
    if (!field.path.starts_with("sources") || field.path.find("strides") == std::string::npos || field.length) continue;
    std::byte* at = model.metadata().data() + field.offset;
    const uint64_t value = load_number(at, field.bytes), hostile = 0;
    std::memcpy(at, &hostile, field.bytes);
    const writer::AlignedBytes file = model.altered();
    std::memcpy(at, &value, field.bytes);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
    bool failed = false;
    try {
      convert::export_checkpoint({path, out, false, {}});
    } catch (const convert::Error& error) {
      failed = true;
      if (!contains(error.what(), "model.lnfr")) FAIL_CHECK(error.what());
    }
    errors += failed;
    if (folder.entry_count() != (failed ? 1 : 2)) FAIL_CHECK(field.path << " left a file");
    std::filesystem::remove(out);
  }
  std::printf("export: %d errors on disk, none left a file\n", errors);
  CHECK(errors > 20);
}

}  // namespace linformer_test::export_test
