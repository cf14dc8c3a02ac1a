// Tests that each formula of a plan gives the bytes of its buffer, and that the README of runtime/program has a formula
// that gives the same.
#include "support/formula.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/description.h"
#include "linformer/session.h"
#include "session/variants.h"
#include "support/engines.h"
#include "support/files.h"

namespace linformer_test::formula_test {
namespace {

using namespace linformer;

// Returns the formulas that the table of the README gives for each buffer. The first column of the table has the names
// of buffers, separated by commas, and the second has formulas in backticks.
std::map<std::string, std::vector<std::string>> published_formulas(const std::string& readme) {
  std::map<std::string, std::vector<std::string>> published;
  const std::string head = "| buffer | bytes |";
  const size_t table = readme.find(head);
  REQUIRE(table != std::string::npos);
  std::istringstream lines(readme.substr(table));
  std::string line, names, formulas;
  std::getline(lines, line);  // The head of the table.
  std::getline(lines, line);  // The separator below it.
  while (std::getline(lines, line) && line.starts_with("| ")) {
    std::istringstream cells(line.substr(2));
    std::getline(cells, names, '|');
    std::getline(cells, formulas, '|');
    std::vector<std::string> found;
    for (size_t begin = formulas.find('`'); begin != std::string::npos;) {
      const size_t end = formulas.find('`', begin + 1);
      REQUIRE(end != std::string::npos);
      found.push_back(formulas.substr(begin + 1, end - begin - 1));
      begin = formulas.find('`', end + 1);
    }
    REQUIRE_MESSAGE(!found.empty(), line);
    std::istringstream list(names);
    for (std::string name; std::getline(list, name, ',');) {
      name = name.substr(name.find_first_not_of(' '));
      name.resize(name.find_last_not_of(' ') + 1);
      published[name] = found;
    }
  }
  return published;
}

TEST_CASE("every formula gives the bytes of its buffer for every kind of model and backend") {
  const std::string readme = read_file(LINFORMER_ARENA_README);
  REQUIRE(!readme.empty());
  const std::map<std::string, std::vector<std::string>> published = published_formulas(readme);
  std::set<std::string> used;
  int kinds = 0;
  std::vector<Variant> models = variants(150);
  Variant rotary{"rotary positions", models[0].shape};
  rotary.shape.layer.attention.rotary_base = 10000;
  models.push_back(rotary);
  for (Variant& variant : models) {
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
          REQUIRE_MESSAGE(published.contains(name), "the README's table doesn't have this buffer");
          if (buffer.bytes == 0) continue;
          used.insert(name);
          CHECK(formula_bytes(formula, terms) == buffer.bytes);
          const std::vector<std::string>& given = published.at(name);
          CHECK_MESSAGE(std::any_of(given.begin(), given.end(),
                                    [&](const std::string& one) { return formula_bytes(one, terms) == buffer.bytes; }),
                        "none of the README's formulas gives this buffer's bytes");
        }
      }
    }
  }
  // Each buffer of the table is used by at least one model.
  for (const auto& entry : published) CHECK_MESSAGE(used.contains(entry.first), entry.first);
}

}  // namespace
}  // namespace linformer_test::formula_test
