// Tests the readers on small files: formats, element types, strides, storages, and data in pickles.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "base/description.h"
#include "base/half.h"
#include "converter/checkpoint_writer.h"
#include "converter/pickle_writer.h"
#include "converter/readers/bytes.h"
#include "converter/readers/crc32.h"
#include "converter/readers/error.h"
#include "converter/readers/torch/pickle.h"
#include "converter/writer/narrow.h"

namespace linformer_test::readers_test {

using namespace linformer::convert;
using linformer::bf16_to_f32;
using linformer::f16_to_f32;

namespace {

std::vector<float> read_all(const Checkpoint& checkpoint, const std::string& name) {
  const Tensor* tensor = checkpoint.find(name);
  REQUIRE(tensor != nullptr);
  std::vector<float> values(tensor->elements, -12345.f);
  checkpoint.read_f32(*tensor, 0, values);
  return values;
}

std::vector<HandTensor> one_of_each() {
  return {{"wide", {2, 2}, {1.5, -2.25, 1e-30, 3.1415926535897931}, DataType::f64},
          {"plain", {3}, {0.1f, -7.f, 1e30f}, DataType::f32},
          {"half", {2, 3}, {0.5, -65504, 6e-8, 0, 1, -2}, DataType::f16},
          {"brain", {4}, {1, -0.5, 256, 3e38}, DataType::bf16},
          {"count", {1}, {7}, DataType::i64},
          {"empty", {0, 5}, {}, DataType::f32},
          {"scalar", {}, {42}, DataType::f32}};
}

// Returns a torch zip whose state dict has the tensors that `write` adds. Storage "0" has the 12 floats 0 to 11.
std::string with_tensors(const std::function<void(PickleWriter&)>& write) {
  PickleWriter pickle;
  pickle.empty_dict();
  write(pickle);
  std::string data;
  for (int i = 0; i < 12; ++i) data += raw(static_cast<float>(i));
  return zip_archive({{"a/data.pkl", pickle.stop()}, {"a/data/0", data}});
}

void add_view(PickleWriter& pickle, const char* name, int64_t offset, const std::vector<int64_t>& shape,
              const std::vector<int64_t>& strides) {
  pickle.text(name).begin_tensor().storage("FloatStorage", "0", 12).end_tensor(offset, shape, strides).set_item();
}

Value run(ValueStore& store, const std::string& pickle) {
  static std::string kept;  // the strings of the returned value point into it
  kept = pickle;
  return PickleMachine(store, as_bytes(kept), {}).run();
}

}  // namespace

TEST_CASE("CRC-32 gives the standard's check value, and that of the plain algorithm for every length below 40") {
  CHECK(crc32(as_bytes("123456789")) == 0xcbf43926);
  CHECK(crc32({}) == 0);
  const std::string text = "The quick brown fox jumps over the lazy dog";
  CHECK(crc32(as_bytes(text)) == 0x414fa339);
  for (size_t length = 0; length < 40; ++length) {
    uint32_t slow = ~0u;
    for (size_t i = 0; i < length; ++i) {
      slow ^= static_cast<unsigned char>(text[i]);
      for (int bit = 0; bit < 8; ++bit) slow = slow >> 1 ^ (slow & 1 ? 0xedb88320u : 0);
    }
    CHECK(crc32(as_bytes(text).first(length)) == ~slow);
  }
}

TEST_CASE("every f16 and bf16 bit pattern becomes the f32 value that rounds to it") {
  int checked = 0;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto pattern = static_cast<uint16_t>(bits);
    const float half = f16_to_f32(pattern), brain = bf16_to_f32(pattern);
    const uint32_t exponent = bits >> 10 & 31, brain_exponent = bits >> 7 & 255;
    CHECK(std::isnan(half) == (exponent == 31 && (bits & 0x3ff)));
    CHECK(std::isnan(brain) == (brain_exponent == 255 && (bits & 0x7f)));
    if (!std::isnan(half)) CHECK(linformer::writer::to_f16(half) == pattern);
    if (!std::isnan(brain)) CHECK(linformer::writer::to_bf16(brain) == pattern);
    if (exponent > 0 && exponent < 31) {
      const double exact = std::ldexp(1024 + (bits & 0x3ff), static_cast<int>(exponent) - 25);
      CHECK(double{half} == (bits & 0x8000 ? -exact : exact));
    }
    ++checked;
  }
  std::printf("%d bit patterns of f16 and bf16\n", checked);
}

TEST_CASE("f64 is rounded to nearest, and values that f32 can't hold become infinite") {
  const double above = double{std::numeric_limits<float>::max()} * (1 + 0x1p-25);
  const std::vector<double> values{1 + 0x1p-24,  // halfway: to even
                                   1 + 3 * 0x1p-24, 1e39, -1e308, above, std::nextafter(0x1.ffffffp127, 0.0)};
  const std::string file = safetensors({{"t", {6}, values, DataType::f64}});
  const std::vector<float> read = read_all(Checkpoint::open(as_bytes(file), "f64"), "t");
  CHECK(read[0] == 1.f);
  CHECK(read[1] == 1 + 0x1p-22f);
  CHECK(read[2] == std::numeric_limits<float>::infinity());
  CHECK(read[3] == -std::numeric_limits<float>::infinity());
  CHECK(read[4] == std::numeric_limits<float>::max());
  CHECK(read[5] == std::numeric_limits<float>::max());
}

TEST_CASE("the three formats give the same tensors") {
  const std::vector<HandTensor> tensors = one_of_each();
  const std::string files[] = {torch_zip(tensors), torch_legacy(tensors), safetensors(tensors)};
  const char* formats[] = {"PyTorch zip", "PyTorch legacy", "safetensors"};
  for (size_t f = 0; f < 3; ++f) {
    CAPTURE(formats[f]);
    const Checkpoint checkpoint = Checkpoint::open(as_bytes(files[f]), "memory");
    CHECK(checkpoint.format == formats[f]);
    REQUIRE(checkpoint.tensors.size() == tensors.size());
    for (size_t t = 0; t < tensors.size(); ++t) {
      const Tensor& tensor = checkpoint.tensors[t];
      CHECK(tensor.name == tensors[t].name);
      CHECK(tensor.type == tensors[t].type);
      CHECK(std::vector<int64_t>(tensor.shape.begin(), tensor.shape.end()) == tensors[t].shape);
      if (tensor.type == DataType::i64) {
        std::vector<float> one(1);
        CHECK_THROWS_AS(checkpoint.read_f32(tensor, 0, one), Error);
        continue;
      }
      const std::vector<float> read = read_all(checkpoint, tensor.name);
      for (size_t i = 0; i < read.size(); ++i) {
        const float value = static_cast<float>(tensors[t].values[i]);
        const float expected = tensor.type == DataType::f16    ? f16_to_f32(linformer::writer::to_f16(value))
                               : tensor.type == DataType::bf16 ? bf16_to_f32(linformer::writer::to_bf16(value))
                                                               : value;
        CHECK(read[i] == expected);
      }
    }
  }
}

TEST_CASE("strides, offsets and shared storages are respected, in whatever pieces a tensor is read") {
  const std::string file = with_tensors([](PickleWriter& pickle) {
    add_view(pickle, "whole", 0, {3, 4}, {4, 1});
    add_view(pickle, "transposed", 0, {4, 3}, {1, 4});
    add_view(pickle, "column", 2, {3}, {4});
    add_view(pickle, "odd", 1, {2, 2, 2}, {5, 1, 2});
    add_view(pickle, "one", 11, {1, 1}, {99, 77});
  });
  const Checkpoint checkpoint = Checkpoint::open(as_bytes(file), "memory");
  CHECK(read_all(checkpoint, "whole") == std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(read_all(checkpoint, "transposed") == std::vector<float>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11});
  CHECK(read_all(checkpoint, "column") == std::vector<float>{2, 6, 10});
  CHECK(read_all(checkpoint, "odd") == std::vector<float>{1, 3, 2, 4, 6, 8, 7, 9});
  CHECK(read_all(checkpoint, "one") == std::vector<float>{11});
  int pieces = 0;
  for (const Tensor& tensor : checkpoint.tensors) {
    const std::vector<float> whole = read_all(checkpoint, tensor.name);
    for (uint64_t first = 0; first <= tensor.elements; ++first) {
      for (uint64_t count = 0; first + count <= tensor.elements; ++count) {
        std::vector<float> piece(count, -1.f);
        checkpoint.read_f32(tensor, first, piece);
        for (uint64_t i = 0; i < count; ++i) CHECK(piece[i] == whole[first + i]);
        ++pieces;
      }
    }
    std::vector<float> beyond(1);
    CHECK_THROWS_AS(checkpoint.read_f32(tensor, tensor.elements, beyond), Error);
  }
  std::printf("%d pieces of strided tensors\n", pieces);
  const Tensor rows = slice_rows(*checkpoint.find("transposed"), 1, 2);
  std::vector<float> values(6);
  checkpoint.read_f32(rows, 0, values);
  CHECK(values == std::vector<float>{1, 5, 9, 2, 6, 10});
  CHECK_THROWS_AS(slice_rows(rows, 1, 2), Error);
}

TEST_CASE("state dicts are found where training loops put them, and other entries are listed") {
  const auto tensor = [](PickleWriter& pickle) { add_view(pickle, "w", 0, {2}, {1}); };
  const std::pair<const char*, std::function<void(PickleWriter&)>> cases[] = {
      {"", tensor},
      {"state_dict", [&](PickleWriter& p) { tensor(p.text("state_dict").empty_dict()), p.set_item(); }},
      {"model_state", [&](PickleWriter& p) { tensor(p.text("model_state").empty_dict()), p.set_item(); }},
      {"model_state_dict",
       [&](PickleWriter& p) {
         p.text("epoch").integer(3).set_item();
         tensor(p.text("model_state_dict").empty_dict()), p.set_item();
       }},
      {"model.state_dict",
       [&](PickleWriter& p) {
         tensor(p.text("model").empty_dict().text("state_dict").empty_dict()), p.set_item().set_item();
       }},
  };
  for (const auto& [path, write] : cases) {
    const std::string file = with_tensors(write);
    const Checkpoint checkpoint = Checkpoint::open(as_bytes(file), "memory");
    CHECK(checkpoint.state_dict_path == path);
    CHECK(read_all(checkpoint, "w") == std::vector<float>{0, 1});
  }
  const std::string mixed = with_tensors([&](PickleWriter& pickle) {
    tensor(pickle);
    pickle.text("step").integer(7).set_item().text("_extra_state").none().set_item();
  });
  const Checkpoint checkpoint = Checkpoint::open(as_bytes(mixed), "memory");
  CHECK(checkpoint.tensors.size() == 1);
  CHECK(checkpoint.not_tensors == std::vector<std::string>{"\"step\" (whole number)", "\"_extra_state\" (null)"});
}

TEST_CASE("parameters, tensors of the old rebuild function and tensors of subclasses are read") {
  const std::string file = with_tensors([](PickleWriter& pickle) {
    pickle.text("p").global("torch._utils", "_rebuild_parameter").mark();
    pickle.begin_tensor().storage("FloatStorage", "0", 12).end_tensor(3, {2}, {1});
    pickle.boolean(true).global("collections", "OrderedDict").op(')').reduce().op('t').reduce().set_item();
    pickle.text("old").global("torch._utils", "_rebuild_tensor").mark();
    pickle.storage("FloatStorage", "0", 12).integer(5).tuple({1}).tuple({1}).op('t').reduce().set_item();
    pickle.text("sub").global("torch._tensor", "_rebuild_from_type_v2").mark();
    pickle.global("torch._utils", "_rebuild_tensor_v2").global("torch.nn.parameter", "Parameter").mark();
    pickle.storage("FloatStorage", "0", 12).integer(7).tuple({1}).tuple({1}).boolean(false).none().op('t');
    pickle.empty_dict().op('t').reduce().set_item();
  });
  const Checkpoint checkpoint = Checkpoint::open(as_bytes(file), "memory");
  CHECK(read_all(checkpoint, "p") == std::vector<float>{3, 4});
  CHECK(read_all(checkpoint, "old") == std::vector<float>{5});
  CHECK(read_all(checkpoint, "sub") == std::vector<float>{7});
}

TEST_CASE("a legacy file's view begins at its place within the storage") {
  std::string file = PickleWriter().append("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19").stop();
  file += PickleWriter().integer(1001).stop();
  file += PickleWriter().empty_dict().text("little_endian").boolean(true).set_item().stop();
  PickleWriter object;
  object.empty_dict().text("w").begin_tensor();
  object.mark().text("storage").global("torch", "FloatStorage").text("9").text("cpu").integer(6);
  object.mark().text("view").integer(2).integer(3).op('t').op('t').op('Q').end_tensor(1, {2}, {1}).set_item();
  file += object.stop() + PickleWriter().op(']').mark().text("9").op('e').stop() + raw(int64_t{6});
  for (int i = 0; i < 6; ++i) file += raw(static_cast<float>(i));
  CHECK(read_all(Checkpoint::open(as_bytes(file), "memory"), "w") == std::vector<float>{3, 4});
}

TEST_CASE("the pickle machine turns numbers, texts and containers into plain data") {
  ValueStore store;
  CHECK(run(store, PickleWriter().integer(-5).stop()).integer() == -5);
  CHECK(run(store, PickleWriter().append(std::string("\x8a\x03\x00\x00\x80", 5)).stop()).integer() == -8388608);
  CHECK(run(store, PickleWriter().append(std::string("\x8a\x00", 2)).stop()).integer() == 0);
  CHECK(run(store, PickleWriter().append(std::string("G\xc0\x04\0\0\0\0\0\0", 9)).stop()).real() == -2.5);
  CHECK(run(store, PickleWriter().text("a\xc3\xa9").stop()).text() == "a\xc3\xa9");
  const std::string memoized(
      "\x8c\x02hi\x94"
      "0h\x00",
      8);  // SHORT_BINUNICODE, MEMOIZE, POP, BINGET 0
  CHECK(run(store, PickleWriter(4).append(memoized).stop()).text() == "hi");

  Value value =
      run(store, PickleWriter().empty_dict().text("k").integer(1).set_item().text("k").integer(2).set_item().stop());
  CHECK(value.find("k").integer() == 2);
  CHECK(!value.find("absent"));

  value = run(store, PickleWriter().global("os", "system").text("echo hacked").op('\x85').reduce().stop());
  CHECK(value.is(ValueKind::object));
  CHECK(value.text() == "os.system");
  CHECK(value.arguments().items()[0].text() == "echo hacked");

  value = run(store, PickleWriter()
                         .global("argparse", "Namespace")
                         .op(')')
                         .op('\x81')
                         .empty_dict()
                         .text("heads")
                         .integer(8)
                         .set_item()
                         .op('b')
                         .stop());
  CHECK(value.find("heads").integer() == 8);

  // A list may contain itself. The reader keeps the reference and doesn't follow it.
  value = run(store, PickleWriter().op(']').append("q\x01h\x01").op('a').stop());
  CHECK(value.items()[0].node() == value.node());
}

TEST_CASE("wrappers of configuration libraries and enumeration members are read as the values that they contain") {
  ValueStore store;
  PickleWriter pickle;
  pickle.global("omegaconf.dictconfig", "DictConfig").op(')').op('\x81').empty_dict();
  pickle.text("_content").empty_dict().text("encoder_layers");
  pickle.global("omegaconf.nodes", "AnyNode")
      .op(')')
      .op('\x81')
      .empty_dict()
      .text("_val")
      .integer(6)
      .set_item()
      .op('b');
  pickle.set_item().set_item().op('b');
  CHECK(without_config_wrappers(without_config_wrappers(run(store, pickle.stop())).find("encoder_layers")).integer() ==
        6);
  const std::string member = PickleWriter().global("some.module", "Choice").text("relu").op('\x85').reduce().stop();
  CHECK(without_config_wrappers(run(store, member)).text() == "relu");
}

TEST_CASE("safetensors metadata names aliases of the tensors that were kept") {
  const std::string file = safetensors({{"kept", {2}, {1, 2}, DataType::f32}}, {{"dropped", "kept"}, {"format", "pt"}});
  const Checkpoint checkpoint = Checkpoint::open(as_bytes(file), "memory");
  CHECK(checkpoint.tensors.size() == 2);
  CHECK(checkpoint.metadata.size() == 2);
  CHECK(checkpoint.find("dropped")->alias_of == "kept");
  CHECK(read_all(checkpoint, "dropped") == std::vector<float>{1, 2});
}

TEST_CASE("a safetensors file is recognised whatever the length of its header") {
  const std::string plain = safetensors({{"w", {2}, {1, 2}, DataType::f32}});
  const std::string header = plain.substr(8, plain.size() - 16), data = plain.substr(plain.size() - 8);
  // 80 02 to 80 05 are the first bytes of pickles, 50 4b those of a zip.
  for (const size_t length : {0x280, 0x380, 0x480, 0x580, 0x4b50}) {
    CAPTURE(length);
    const std::string file = safetensors_file(header + std::string(length - header.size(), ' '), data);
    const auto checkpoint = Checkpoint::open(as_bytes(file), "memory");
    CHECK(checkpoint.format == "safetensors");
    CHECK(read_all(checkpoint, "w") == std::vector<float>{1, 2});
  }
}

}  // namespace linformer_test::readers_test
