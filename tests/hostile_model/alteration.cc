#include "hostile_model/alteration.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdio>
#include <cstring>

#include "base/description.h"
#include "model/limits.h"
#include "support/allocations.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace linformer_test {
namespace {

using namespace linformer;

// The bytes that loading may allocate beyond the file's size: the documented allowance, and the order in which names
// are compared.
constexpr uint64_t allocation_constant = description_allowance + max_tensors * sizeof(uint32_t) + 4096;

// Keeps the compiler from removing the reads.
volatile uint64_t sink;

template <class T>
void touch(std::span<const T> values) {
  uint64_t sum = 0;
  for (const auto byte : std::as_bytes(values)) sum += static_cast<uint64_t>(byte);
  sink = sink + sum;
}

void touch(const std::string& text) { touch(std::span<const char>(text)); }

}  // namespace

bool is_clear_error(const Status& status) {
  const bool blames_file = status.code() == Code::corrupt_file || status.code() == Code::unsupported;
  return blames_file && std::strlen(status.message()) > 20;
}

std::string touch_everything(const std::shared_ptr<const Model>& model) {
  const ModelDescription& description = model->description();
  touch(description.producer);
  touch(description.dialect);
  for (size_t i = 0; i < description.tensors.size(); ++i) {
    touch(description.tensors[i].name);
    touch(std::span<const uint64_t>(description.tensors[i].shape));
    touch(std::span(model->data(static_cast<TensorIndex>(i)), description.tensors[i].bytes));
  }
  for (const EncoderDescription* encoder : {&description.encoder, &description.decoder}) {
    for (const LayerDescription& layer : encoder->layers) {
      touch(std::span<const uint32_t>(layer.attention.key_projections));
      touch(std::span<const uint32_t>(layer.attention.value_projections));
    }
  }
  for (const Prompt& prompt : description.embedding.prompts) {
    touch(prompt.name);
    touch(prompt.text);
  }
  for (const ClassificationHead& head : description.heads) {
    touch(head.name);
    for (const String& label : head.labels) touch(label);
  }
  const TokenizerDescription& t = description.tokenizer;
  touch(t.token_bytes);
  touch(t.token_offsets);
  touch(t.token_ids);
  touch(t.merges);
  touch(t.scores);
  for (const AddedToken& token : t.added_tokens) touch(token.content);
  touch(std::span<const int32_t>(t.single_template));
  touch(std::span<const int32_t>(t.pair_template));
  touch(t.continuing_prefix);
  touch(t.rules.charsmap);
  touch(t.rules.token_uses);
  touch(t.rules.exact_scores);
  for (const NormalizerStep& step : t.rules.steps) {
    touch(step.pattern);
    touch(step.content);
  }
  for (const SplitStep& step : t.rules.splits) touch(step.pattern);
  return {};
}

Outcome::~Outcome() {
  std::printf("%-34s %7lld errors, %7lld loaded, at most %llu bytes allocated, %.1f ms\n", kind_,
              static_cast<long long>(errors_), static_cast<long long>(loaded_),
              static_cast<unsigned long long>(peak_bytes_), longest_seconds_ * 1e3);
}

void Outcome::load(std::span<const std::byte> file, const LoadOptions& options,
                   const std::function<std::string()>& what) {
  const auto start = std::chrono::steady_clock::now();
  const AllocationPeak peak;
  const auto model = Model::load(file, options);
  const uint64_t bytes = peak.bytes();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  longest_seconds_ = std::max(longest_seconds_, seconds.count());
  peak_bytes_ = std::max(peak_bytes_, bytes);
  if (bytes > file.size() + allocation_constant) FAIL_CHECK(what() << " allocated " << bytes << " bytes");
  code_ = model.status().code();
  message_ = model.status().message();
  if (!model.ok()) {
    ++errors_;
    // The message must have a colon, after which it says what to do.
    if (!is_clear_error(model.status()) || message_.find(": ") == std::string::npos)
      FAIL_CHECK(what() << " gave the error \"" << message_ << "\"");
    return;
  }
  ++loaded_;
  const std::string objection = on_loaded(model.value());
  if (!objection.empty()) FAIL_CHECK(what() << ": " << objection);
}

Unreadable::Unreadable(const std::byte* begin, const std::byte* end)
    : begin_(begin), size_(static_cast<size_t>(end - begin)) {
#if defined(__SANITIZE_ADDRESS__)
  ASAN_POISON_MEMORY_REGION(begin_, size_);
#endif
}

Unreadable::~Unreadable() {
#if defined(__SANITIZE_ADDRESS__)
  ASAN_UNPOISON_MEMORY_REGION(begin_, size_);
#else
  static_cast<void>(begin_);
  static_cast<void>(size_);
#endif
}

}  // namespace linformer_test
