// The published formulas: each gives its buffer's bytes, and the README of the layer explains each.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string>

#include "base/description.h"
#include "linformer/session.h"
#include "session/variants.h"
#include "support/engines.h"
#include "support/files.h"

namespace linformer_test {
namespace {

using namespace linformer;

// Sums and products of numbers and names, with brackets and max(a, b).
class Formula {
 public:
  Formula(std::string text, const std::map<std::string, uint64_t>& terms) : text_(std::move(text)), terms_(terms) {}

  uint64_t value() {
    const uint64_t result = sum();
    REQUIRE(at_ == text_.size());
    return result;
  }

 private:
  bool take(const std::string& token) {
    skip_spaces();
    if (text_.compare(at_, token.size(), token) != 0) return false;
    at_ += token.size();
    return true;
  }
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  uint64_t sum() {
    uint64_t result = product();
    while (take("+")) result += product();
    return result;
  }
  uint64_t product() {
    uint64_t result = factor();
    while (take("x ")) result *= factor();
    return result;
  }
  uint64_t factor() {
    const bool largest = take("max(");
    if (largest || take("(")) {
      uint64_t result = sum();
      while (largest && take(",")) result = std::max(result, sum());
      REQUIRE(take(")"));
      return result;
    }
    skip_spaces();
    const size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    const std::string word = text_.substr(begin, at_ - begin);
    REQUIRE(!word.empty());
    if (std::isdigit(static_cast<unsigned char>(word[0])) != 0) return std::stoull(word);
    REQUIRE_MESSAGE(terms_.contains(word), word);
    return terms_.at(word);
  }

  const std::string text_;
  const std::map<std::string, uint64_t>& terms_;
  size_t at_ = 0;
};

TEST_CASE("every formula gives its buffer's bytes, for every kind of model and backend") {
  const std::string readme = read_file(LINFORMER_ARENA_README);
  REQUIRE(!readme.empty());
  std::map<std::string, bool> used;
  int kinds = 0;
  for (Variant variant : variants(150)) {
    CAPTURE(variant.name);
    constexpr ElementType types[] = {ElementType::f32, ElementType::bf16, ElementType::int8};
    variant.shape.type = types[++kinds % 3];
    const auto model = random_model(variant.shape);
    for (const Engine& engine : engines()) {
      for (const Part part : {Part::encoder, Part::decoder}) {
        if (part == Part::decoder && !model->description().has_decoder()) continue;
        SessionOptions options;
        options.memory.max_batch = 3;
        options.cpu.threads = 2;
        options.memory.max_rows = 333;
        options.cpu.backend = engine.backend;
        options.cpu.isa = engine.isa;
        options.run.part = part;
        const Result<Plan> planned = plan(*model, options, Machine());
        REQUIRE_MESSAGE(planned.ok(), std::string(planned.status().message()));
        std::map<std::string, uint64_t> terms;
        for (int i = 0; i < planned->term_count; ++i) {
          const PlanTerm& term = planned->terms[i];
          CHECK_MESSAGE(terms.emplace(term.name, static_cast<uint64_t>(term.value)).second, std::string(term.name));
          CHECK_MESSAGE(readme.find("| `" + std::string(term.name) + "` |") != std::string::npos,
                        std::string(term.name));
        }
        for (int i = 0; i < planned->buffer_count; ++i) {
          const PlannedBuffer& buffer = planned->buffers[i];
          const std::string name = buffer.name, formula = buffer.formula;
          CAPTURE(name);
          CAPTURE(formula);
          CHECK_MESSAGE(readme.find("`" + formula + "`") != std::string::npos, "not in the README");
          if (buffer.bytes == 0) continue;
          used[name] = true;
          CHECK((Formula(formula, terms).value() + 63) / 64 * 64 == buffer.bytes);
        }
      }
    }
  }
  CHECK(used.size() == 31);  // no buffer is without use in all of them
}

}  // namespace
}  // namespace linformer_test
