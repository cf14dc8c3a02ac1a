#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/description.h"
#include "support/temporary_folder.h"
#include "format/tiny_model.h"
#include "linformer/model.h"

namespace linformer_test::builder_test {

using namespace linformer;
using namespace linformer::writer;

namespace {

std::vector<char> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool equals(const std::vector<char>& a, std::span<const std::byte> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), b.size()) == 0;
}

}  // namespace

TEST_CASE("weights of equal values share a tensor, and other weights don't") {
  ModelBuilder builder(ElementType::bf16);
  const std::vector<float> a{1, 2, 3, 4}, b{1, 2, 3, 5};
  const TensorIndex first = builder.add_linear("a", 2, 2, a);
  CHECK(builder.add_linear("again", 2, 2, a) == first);
  CHECK(builder.description.tensors[0].name == "a");
  const TensorIndex others[] = {builder.add_linear("b", 2, 2, b), builder.add_linear("wide", 1, 4, a),
                                builder.add_table("table", {2, 2}, a), builder.add_floats("floats", {2, 2}, a),
                                builder.add_floats("flat", {4}, a)};
  for (size_t i = 0; i < 5; ++i) CHECK(others[i] == static_cast<TensorIndex>(i + 1));
  CHECK(builder.has_values(others[2], {2, 2}, copy_of(a)));
  CHECK_FALSE(builder.has_values(others[2], {2, 2}, copy_of(b)));
  CHECK_FALSE(builder.has_values(others[2], {4, 1}, copy_of(a)));
  CHECK_FALSE(builder.has_values(first, {2, 2}, copy_of(a)));
  CHECK_FALSE(builder.has_values(absent, {2, 2}, copy_of(a)));
  CHECK_FALSE(builder.has_values(99, {2, 2}, copy_of(a)));
}

TEST_CASE("a wrong count, rank or dimension is an error that names the tensor") {
  ModelBuilder builder;
  const std::vector<float> values(6);
  CHECK_THROWS_WITH_AS(builder.add_linear("w", 2, 2, values), "w has 6 values, but its shape needs 4", WriteError);
  CHECK_THROWS_AS(builder.add_floats("w", {}, copy_of(values)), WriteError);
  CHECK_THROWS_AS(builder.add_floats("w", {1, 1, 1, 2, 3}, copy_of(values)), WriteError);
  CHECK_THROWS_AS(builder.add_floats("w", {0, 2}, copy_of(values)), WriteError);
  CHECK_THROWS_AS(builder.add_floats("w", {uint64_t{1} << 40, 2}, copy_of(values)), WriteError);
}

TEST_CASE("the file on disk equals the file in memory, and equal input gives equal bytes") {
  const TemporaryFolder folder;
  for (ElementType type : {ElementType::f32, ElementType::bf16, ElementType::f16, ElementType::int8}) {
    TinyModel one(type), other(type);
    uint64_t done = 0, total = 0;
    one.builder.write(folder.path("one.lnfr"), [&](uint64_t now, uint64_t all) {
      CHECK(now > done);
      done = now;
      total = all;
    });
    const std::vector<char> bytes = read_file(folder.path("one.lnfr"));
    CHECK(done == total);
    CHECK(total == bytes.size());
    CHECK(equals(bytes, other.builder.serialize()));
    other.builder.write(folder.path("one.lnfr"));  // replaces its own file
    CHECK(read_file(folder.path("one.lnfr")) == bytes);
    CHECK(folder.entry_count() == 1);
  }
}

TEST_CASE("a description that wouldn't load is not written") {
  const TemporaryFolder folder;
  TinyModel model;
  model.builder.description.heads[0].labels.pop_back();
  CHECK_THROWS_AS(model.builder.write(folder.path("model.lnfr")), WriteError);
  CHECK_THROWS_AS(model.builder.serialize(), WriteError);
  CHECK(folder.entry_count() == 0);
}

TEST_CASE("a source that fails or changes on the second reading leaves no file behind") {
  const TemporaryFolder folder;
  for (bool fails : {true, false}) {
    TinyModel model;
    int readings = 0;
    const FloatSource source = [&](uint64_t, std::span<float> out) {
      std::fill(out.begin(), out.end(), static_cast<float>(readings));
      if (++readings > 1 && fails) throw std::runtime_error("gone");
    };
    model.builder.add_floats("moving", {3}, source);
    if (fails) {
      CHECK_THROWS_WITH(model.builder.write(folder.path("model.lnfr")), "gone");
    } else {
      CHECK_THROWS_WITH_AS(model.builder.write(folder.path("model.lnfr")),
                           "moving changed while it was converted: leave the checkpoint alone and convert again",
                           WriteError);
    }
    CHECK(folder.entry_count() == 0);
  }
}

TEST_CASE("a model that is mapped keeps its bytes while its file is replaced") {
  const TemporaryFolder folder;
  TinyModel first(ElementType::f32), second(ElementType::f16);
  first.builder.write(folder.path("model.lnfr"));
  const auto model = Model::load(folder.path("model.lnfr").c_str());
  REQUIRE(model.ok());
  second.builder.write(folder.path("model.lnfr"));
  CHECK(model.value()->verify().ok());
  CHECK(model.value()->description().tensors[0].type == ElementType::f32);
}

}  // namespace linformer_test::builder_test
