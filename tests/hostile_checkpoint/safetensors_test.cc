// Tests safetensors files that break the format's rules, such as the attacks that the format's authors list.
#include <doctest/doctest.h>

#include "converter/checkpoint_writer.h"
#include "converter/conversion.h"
#include "converter/pickle_writer.h"
#include "hostile_checkpoint/attempt.h"

namespace linformer_test::safetensors_test {
namespace {

std::string entry(const std::string& type, const std::string& shape, const std::string& offsets) {
  return "{\"dtype\":\"" + type + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
}

std::string nested(size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

}  // namespace

TEST_CASE("safetensors files that break the format's rules are refused") {
  struct Case {
    const char* what;
    std::string file;
    const char* part;
  };
  const std::string data(16, '\x01');
  const std::string whole = entry("F32", "[2,2]", "[0,16]");
  const auto file = [&](const std::string& header) { return safetensors_file(header, data); };
  std::string many = "{";
  for (int i = 0; i < 70000; ++i) many += (i ? ",\"" : "\"") + std::to_string(i) + "\":" + entry("F32", "[0]", "[0,0]");
  const Case cases[] = {
      {"header of 2^64-1 bytes", raw(~uint64_t{0}) + "{}", "the format allows"},
      {"header of 100 MB + 1", raw(uint64_t{100'000'001}) + "{}", "the format allows"},
      {"header longer than the file", raw(uint64_t{1000}) + "{}" + data, "truncated"},
      {"header of 0 bytes", raw(uint64_t{0}) + "{", "begin with {"},
      {"not JSON", file("{not json}"), "not valid JSON"},
      {"two JSON values", file("{}{}"), "not valid JSON"},
      {"comment", file("{/**/}"), "not valid JSON"},
      {"NaN", file("{\"w\":NaN}"), "not valid JSON"},
      {"not UTF-8", file("{\"\xff\":" + whole + "}"), "not valid JSON"},
      {"duplicate names", file("{\"w\":" + whole + ",\"w\":" + whole + "}"), "twice"},
      {"duplicate keys", file("{\"w\":{\"dtype\":\"F32\",\"dtype\":\"F16\",\"shape\":[2,2],\"data_offsets\":[0,16]}}"),
       "twice"},
      {"extra key", file("{\"w\":{\"dtype\":\"F32\",\"x\":1,\"shape\":[2,2],\"data_offsets\":[0,16]}}"),
       "must have dtype"},
      {"no shape", file("{\"w\":{\"dtype\":\"F32\",\"x\":1,\"data_offsets\":[0,16]}}"), "no shape"},
      {"entry no object", file("{\"w\":[1]}"), "must have dtype"},
      {"metadata no object", file("{\"__metadata__\":7,\"w\":" + whole + "}"), "__metadata__"},
      {"metadata no text", file("{\"__metadata__\":{\"a\":{}},\"w\":" + whole + "}"), "not a text"},
      {"unknown type", file("{\"w\":" + entry("F128", "[1]", "[0,16]") + "}"), "F128"},
      {"8 bit float", file("{\"w\":" + entry("F8_E4M3", "[16]", "[0,16]") + "}"), "not supported"},
      {"overlap", file("{\"a\":" + entry("F32", "[3]", "[0,12]") + ",\"b\":" + entry("F32", "[2]", "[8,16]") + "}"),
       "overlap"},
      {"same bytes twice", file("{\"a\":" + whole + ",\"b\":" + whole + "}"), "overlap"},
      {"hole", file("{\"a\":" + entry("F32", "[1]", "[0,4]") + ",\"b\":" + entry("F32", "[1]", "[12,16]") + "}"),
       "holes"},
      {"hole at the start", file("{\"a\":" + entry("F32", "[3]", "[4,16]") + "}"), "holes"},
      {"data appended", file("{\"a\":" + entry("F32", "[3]", "[0,12]") + "}"), "appended"},
      {"no tensors but data", file("{}"), "appended"},
      {"no tensors", safetensors_file("{}", ""), "has no tensors"},
      {"metadata alone", safetensors_file("{\"__metadata__\":{\"format\":\"pt\"}}", ""), "has no tensors"},
      {"beyond the file", file("{\"a\":" + entry("F32", "[400]", "[0,1600]") + "}"), "truncated"},
      {"shape lies", file("{\"a\":" + entry("F32", "[2,3]", "[0,16]") + "}"), "take 24 bytes"},
      {"offsets reversed", file("{\"a\":" + entry("F32", "[2,2]", "[16,0]") + "}"), "data_offsets"},
      {"offsets negative", file("{\"a\":" + entry("F32", "[2,2]", "[-16,0]") + "}"), "whole number"},
      {"offsets fractional", file("{\"a\":" + entry("F32", "[2,2]", "[0,16.0]") + "}"), "whole number"},
      {"offsets 2^64", file("{\"a\":" + entry("F32", "[2,2]", "[0,18446744073709551616]") + "}"), "whole number"},
      {"offsets 2^64-1", file("{\"a\":" + entry("F32", "[2,2]", "[0,18446744073709551615]") + "}"), "whole number"},
      {"three offsets", file("{\"a\":" + entry("F32", "[2,2]", "[0,8,16]") + "}"), "pair"},
      {"shape overflows", file("{\"a\":" + entry("F32", "[4294967296,4294967296,4]", "[0,16]") + "}"), "too large"},
      {"shape overflows to fit", file("{\"a\":" + entry("F32", "[4611686018427387905,4]", "[0,16]") + "}"),
       "too large"},
      {"shape negative", file("{\"a\":" + entry("F32", "[-2,-2]", "[0,16]") + "}"), "whole number"},
      {"shape of texts", file("{\"a\":" + entry("F32", "[\"2\",\"2\"]", "[0,16]") + "}"), "whole number"},
      {"too many dimensions", file("{\"a\":" + entry("F32", "[1,1,1,1,1,1,1,2,2]", "[0,16]") + "}"), "dimensions"},
      {"empty name", file("{\"\":" + whole + "}"), "empty name"},
      {"NUL in a name", file("{\"a\\u0000b\":" + whole + "}"), "not text"},
      {"long name", file("{\"" + std::string(2000, 'n') + "\":" + whole + "}"), "longer than"},
      {"deep JSON", file("{\"w\":" + nested(100000) + "}"), "nests deeper"},
      {"deep metadata", file("{\"__metadata__\":{\"a\":" + nested(65) + "}}"), "nests deeper"},
      {"70,000 tensors", safetensors_file(many + "}", ""), "more than"},
      {"2,000,000 values",
       safetensors_file(
           "{\"w\":[" +
               [] {
                 std::string zeros = "0";
                 for (int i = 0; i < 2000000; ++i) zeros += ",0";
                 return zeros;
               }() +
               "]}",
           ""),
       "more than"},
      {"empty file with a zip end", safetensors_file("{}", "PK\x05\x06" + std::string(18, '\0')), "appended"},
  };
  Attempts attempts("safetensors, hand-made");
  for (const Case& c : cases) {
    CAPTURE(c.what);
    const std::string error = attempts.attempt(c.file, false, c.what);
    CAPTURE(error);
    CHECK(contains(error, c.part));
    CHECK(!error.empty());
  }
  CHECK(attempts.attempt(file("{\"w\":" + whole + "}   "), false, "spaces behind").empty());
  const auto with_empty = [&](const char* shape) {
    return file("{\"e\":" + entry("F32", shape, "[0,0]") + ",\"w\":" + whole + "}");
  };
  CHECK(attempts.attempt(with_empty("[1000,0,1000]"), false, "empty tensor").empty());
  CHECK(!attempts.attempt(with_empty("[0,9223372036854775807,9223372036854775807]"), false, "large sides").empty());
}

TEST_CASE("files of other kinds are refused with an error that names their kind") {
  const std::pair<std::string, const char*> cases[] = {
      {"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "Git LFS"},
      {"\x89LNFR\r\n\x1a and so on", "already a converted model"},
      {"GGUF0000000000000000", "a GGUF file"},
      {"\x7f"
       "ELF000000000000",
       "neither a PyTorch"},
      {"<!DOCTYPE html><html>", "neither a PyTorch"},
      {"x", "neither a PyTorch"},
      {std::string(100, '\0'), "neither a PyTorch"},
      {"\x80\x04\x95\x05\x00", "pickle"},
      {"\x80\x02}.", "not one of torch.save"}};
  Attempts attempts("other kinds of files");
  for (const auto& [file, part] : cases) CHECK(contains(attempts.attempt(file, false, part), part));
}

}  // namespace linformer_test::safetensors_test
