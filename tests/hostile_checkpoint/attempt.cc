#include "hostile_checkpoint/attempt.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

#include "converter/conversion.h"
#include "converter/option_names.h"
#include "converter/readers/error.h"

namespace linformer_test {

using namespace linformer::convert;

namespace {

// A copy that ends at the end of its memory, so that the address sanitizer notices reads beyond it.
struct ExactCopy {
  explicit ExactCopy(const std::string& file) : bytes(new std::byte[file.size()]), size(file.size()) {
    std::memcpy(bytes.get(), file.data(), size);
  }
  std::span<const std::byte> span() const { return {bytes.get(), size}; }
  std::unique_ptr<std::byte[]> bytes;
  size_t size;
};

Contents contents_of(const Checkpoint& checkpoint) {
  Contents contents;
  for (const Tensor& tensor : checkpoint.tensors) {
    contents.names.push_back(tensor.name + shape_text(tensor));
    std::vector<float>& values = contents.values.emplace_back();
    if (tensor.type > DataType::bf16) continue;
    values.resize(tensor.elements);
    checkpoint.read_f32(tensor, 0, values);
    // A flipped bit may make a NaN. It is replaced, because a NaN doesn't equal itself.
    for (float& value : values) {
      if (value != value) value = -0x1.23456p99f;
    }
  }
  return contents;
}

bool is_clear(const std::string& sentence) {
  return sentence.size() > 20 && sentence.size() < 2000 &&
         std::all_of(sentence.begin(), sentence.end(), [](char c) { return c >= ' ' && c < 0x7f; });
}

}  // namespace

Contents read_contents(const std::string& file) {
  const ExactCopy copy(file);
  return contents_of(Checkpoint::open(copy.span(), "memory"));
}

Attempts::~Attempts() {
  std::printf("%s: %llu files, %llu clear errors, %llu correct readings\n", kind_,
              static_cast<unsigned long long>(errors_ + successes_), static_cast<unsigned long long>(errors_),
              static_cast<unsigned long long>(successes_));
}

std::string Attempts::attempt(const std::string& file, bool convert, const std::string& what) {
  std::string sentence;
  try {
    const ExactCopy copy(file);
    Checkpoint checkpoint = Checkpoint::open(copy.span(), "memory");
    contents_ = contents_of(checkpoint);
    if (convert) {
      Report report;
      linformer::writer::ModelBuilder builder;
      build_model(checkpoint, Settings(), &builder, &report, {});
      const linformer::writer::AlignedBytes bytes = builder.serialize();
      const auto model = linformer::Model::load(bytes);
      if (!model.ok()) FAIL_CHECK(what << ": the model does not load: " << model.status().message());
    }
    ++successes_;
    return "";
  } catch (const Error& error) {
    sentence = with_option_names(error.what(), {});
  } catch (const linformer::writer::WriteError& error) {
    sentence = error.what();
  } catch (const std::exception& error) {
    FAIL_CHECK(what << ": an exception that is not one of the converter's errors: " << error.what());
  }
  ++errors_;
  if (!is_clear(sentence)) FAIL_CHECK(what << ": the message is too short, too long or not ASCII: " << sentence);
  return sentence;
}

}  // namespace linformer_test
