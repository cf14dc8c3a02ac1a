// Tests that loading a model, creating its tokenizer and creating a session return errors if memory runs out.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/description.h"
#include "linformer/session.h"
#include "linformer/tokenizer.h"
#include "support/allocations.h"
#include "support/skip.h"
#include "text/tokenizer_factory.h"

namespace linformer_test::refusals_test {
namespace {

using namespace linformer;

struct AlignedBytes {
  explicit AlignedBytes(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    REQUIRE(!bytes.empty());
    storage.resize(bytes.size() + 64);
    const size_t misaligned = reinterpret_cast<uintptr_t>(storage.data()) % 64;
    char* begin = storage.data() + (64 - misaligned) % 64;
    std::memcpy(begin, bytes.data(), bytes.size());
    view = std::as_bytes(std::span(begin, bytes.size()));
  }
  std::vector<char> storage;
  std::span<const std::byte> view;
};

struct Attempts {
  int64_t needed = 0;  // The bytes of memory with which the attempt succeeded.
  int refused = 0;
};

// Calls `attempt` with more and more memory until it succeeds. Every failure must have the code out_of_memory.
template <class Attempt>
Attempts with_more_memory(Attempt attempt) {
  Attempts attempts;
  for (;; attempts.needed += attempts.needed < 4096 ? 16 : attempts.needed / 64) {
    limit_memory(attempts.needed);
    const Status status = attempt();
    end_memory_limit();
    if (status.ok()) return attempts;
    REQUIRE_MESSAGE(status.code() == Code::out_of_memory, std::string(status.message()));
    ++attempts.refused;
    REQUIRE(attempts.needed < (int64_t{1} << 32));
  }
}

void print(const char* what, const Attempts& attempts) {
  std::printf("%-28s %5d refusals, each an error; succeeds with %lld bytes\n", what, attempts.refused,
              static_cast<long long>(attempts.needed));
  CHECK(attempts.refused > 0);
}

TEST_CASE("every step of loading and running returns an error if memory runs out") {
  if (!counting_works()) {
    linformer_test::skip("the allocator can't be replaced under a sanitizer");
    return;
  }
  for (const char* name : {"f32.lnfr", "bf16.lnfr", "f16.lnfr", "int8.lnfr"}) {
    const std::string path = std::string(LINFORMER_GOLDEN_MODELS) + "/" + name;
    const AlignedBytes file(path);
    std::printf("%s\n", name);
    print("model, from memory", with_more_memory([&] { return Model::load(file.view).status(); }));
    print("model, from a path", with_more_memory([&] { return Model::load(path.c_str()).status(); }));
    auto model = Model::load(file.view);
    REQUIRE(model.ok());
    SessionOptions options;
    options.cpu.backend = BackendKind::native;
    for (const Part part : {Part::encoder, Part::decoder}) {
      options.run.part = part;
      if (part == Part::decoder && !(*model)->description().has_decoder()) continue;
      print("plan", with_more_memory([&] { return plan(**model, options, Machine()).status(); }));
      print("session", with_more_memory([&] { return Session::create(*model, options).status(); }));
    }
    const TokenizerDescription& description = (*model)->description().tokenizer;
    if (description.kind == TokenizerKind::none) continue;
    print("tokenizer", with_more_memory([&] { return TokenizerFactory::create(description).status(); }));
    auto tokenizer = TokenizerFactory::create(description);
    REQUIRE(tokenizer.ok());
    print("a text's tokens", with_more_memory([&] {
            Encoding encoding;
            EncodeOptions all;
            all.token_strings = true;
            return tokenizer->encode("A text of some words, and another.", "Its pair.", all, &encoding);
          }));
  }
}

TEST_CASE("a tokenizer's memory depends on the number of its tokens, not on their ids") {
  if (!counting_works()) return;
  TokenizerDescription description;
  description.kind = TokenizerKind::wordpiece;
  description.max_word_characters = 10;
  description.unk = 0;
  const std::vector<uint32_t> offsets = {0, 1, 2, 3};
  description.token_bytes = {"abc", 3};
  description.token_offsets = offsets;
  const auto needed = [&](std::vector<int32_t> ids) {
    description.token_ids = ids;
    return with_more_memory([&] { return TokenizerFactory::create(description).status(); }).needed;
  };
  CHECK(needed({2, 0, static_cast<int32_t>(max_dimension) - 1}) == needed({2, 0, 1}));
}

}  // namespace
}  // namespace linformer_test::refusals_test
