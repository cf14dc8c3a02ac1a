#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/description.h"
#include "hostile_model/attack.h"

namespace linformer_test::semantic_tensors_test {

using namespace linformer;

namespace {

TensorDescription& query_weight(ModelDescription& m) { return tensor(m, m.encoder.layers[0].attention.query.weight); }

}  // namespace

TEST_CASE("tensors that contradict the file or themselves are refused") {
  const Attack attacks[] = {
      {"unaltered", "", [](ModelDescription&) {}},
      {"no tensors", "tensors has 0 entries", [](ModelDescription& m) { m.tensors.clear(); }},
      {"nameless", "tensors[3].name is empty", [](ModelDescription& m) { m.tensors[3].name.clear(); }},
      {"not UTF-8", "not printable UTF-8", [](ModelDescription& m) { m.tensors[3].name = std::string("a\xff"); }},
      {"overlong UTF-8", "not printable UTF-8",
       [](ModelDescription& m) { m.tensors[3].name = std::string("\xc0\xaf"); }},
      {"surrogate", "not printable UTF-8",
       [](ModelDescription& m) { m.tensors[3].name = std::string("\xed\xa0\x80"); }},
      {"cut UTF-8", "not printable UTF-8", [](ModelDescription& m) { m.tensors[3].name = std::string("a\xe2\x82"); }},
      {"escape sequence", "not printable", [](ModelDescription& m) { m.tensors[3].name = std::string("\x1b[2J"); }},
      {"C1 control", "not printable", [](ModelDescription& m) { m.tensors[3].name = std::string("a\xc2\x9b"); }},
      {"NUL", "not printable", [](ModelDescription& m) { m.tensors[3].name = std::string("a\0b", 3); }},
      {"long name", "too long", [](ModelDescription& m) { m.tensors[3].name = std::string(1025, 'x'); }},
      {"longest name", "", [](ModelDescription& m) { m.tensors[3].name = std::string(1024, 'x'); }},
      {"any script", "",
       [](ModelDescription& m) { m.tensors[3].name = std::string("\xd0\xb2\xd0\xb5\xd1\x81 \xf0\x9f\x98\x80"); }},
      {"same name", "has the name of tensor", [](ModelDescription& m) { m.tensors[9].name = m.tensors[4].name; }},
      {"int8 without scales and sums", "claims 1024 bytes, its shape and type need 1152",
       [](ModelDescription& m) { query_weight(m).type = ElementType::int8; }},
      {"sums that may not fit 32 bits", "is int8 with 65537 inputs, at most 65536",
       [](ModelDescription& m) {
         query_weight(m).type = ElementType::int8;
         query_weight(m).shape = {16, 65537};
       }},
      {"a vector of int8", "is int8 with 1 dimensions",
       [](ModelDescription& m) {
         query_weight(m).type = ElementType::int8;
         query_weight(m).layout = TensorLayout::row_major;
         query_weight(m).shape = {256};
       }},
      {"padded rows of f32", "is padded_rows of f32",
       [](ModelDescription& m) {
         query_weight(m).type = ElementType::f32;
         query_weight(m).layout = TensorLayout::padded_rows;
       }},
      {"padded rows of a vector", "is padded_rows of bf16 with 1 dimensions",
       [](ModelDescription& m) {
         query_weight(m).type = ElementType::bf16;
         query_weight(m).layout = TensorLayout::padded_rows;
         query_weight(m).shape = {256};
       }},
      {"unknown type", "tensor type is 9", [](ModelDescription& m) { query_weight(m).type = ElementType{9}; }},
      {"unknown layout", "tensor layout is 3", [](ModelDescription& m) { query_weight(m).layout = TensorLayout{3}; }},
      {"scalar", "has 0 dimensions", [](ModelDescription& m) { query_weight(m).shape.clear(); }},
      {"rank 5", "tensor shape has 5 entries",
       [](ModelDescription& m) {
         query_weight(m).shape = {1, 1, 1, 16, 16};
       }},
      {"zero dimension", "dimension of 0",
       [](ModelDescription& m) {
         query_weight(m).shape = {16, 0};
       }},
      {"huge dimension", "dimension of 16777217",
       [](ModelDescription& m) {
         query_weight(m).shape = {1, 16777217};
       }},
      {"negative dimension", "dimension of 18446744073709551615",
       [](ModelDescription& m) {
         query_weight(m).shape = {~0ull, 16};
       }},
      {"2^96 elements", "more elements than 64 bits",
       [](ModelDescription& m) {
         m.tensors[0].shape = {max_dimension, max_dimension, max_dimension, max_dimension};
       }},
      {"panels of a vector", "panel16 with 1 dimensions", [](ModelDescription& m) { query_weight(m).shape = {256}; }},
      {"type without its size", "claims 1024 bytes, its shape and type need 512",
       [](ModelDescription& m) { query_weight(m).type = ElementType::f16; }},
      {"layout without its size", "claims 1024 bytes, its shape and type need 768",
       [](ModelDescription& m) {
         TensorDescription& t = query_weight(m);
         t.shape = {16, 17};
         t.type = ElementType::f16;
         t.layout = TensorLayout::panel16;
         REQUIRE(t.bytes == 1024);
         t.shape = {16, 24};
         t.layout = TensorLayout::row_major;
       }},
      {"no bytes", "claims 0 bytes", [](ModelDescription& m) { query_weight(m).bytes = 0; }},
      {"bytes wrap", "claims 18446744073709551615", [](ModelDescription& m) { query_weight(m).bytes = ~0ull; }},
      {"misaligned", "of the segment instead of", [](ModelDescription& m) { query_weight(m).offset += 32; }},
      {"overlapping", "of the segment instead of",
       [](ModelDescription& m) { m.tensors[5].offset = m.tensors[4].offset; }},
      {"offset wraps", "of the segment instead of", [](ModelDescription& m) { m.tensors[5].offset = ~0ull - 63; }},
      {"a hole", "of the segment instead of", [](ModelDescription& m) { m.tensors.back().offset += 64; }},
      {"swapped", "of the segment instead of", [](ModelDescription& m) { std::swap(m.tensors[4], m.tensors[5]); }},
      {"beyond the segment", "ends beyond the tensor segment",
       [](ModelDescription& m) {
         m.tensors.back().shape = {1000};
         m.tensors.back().bytes = 4000;
       }},
      {"before the segment's end", "end at byte",
       [](ModelDescription& m) {
         m.tensors.pop_back();  // the bias of the last head
         m.heads.pop_back();
       }},
  };
  run_attacks("tensors", attacks);
}

}  // namespace linformer_test::semantic_tensors_test
