// Tests hostile pickles: code, bombs and false statements about tensors. No code in a pickle is ever executed.
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <functional>

#include "converter/checkpoint_writer.h"
#include "converter/conversion.h"
#include "converter/pickle_writer.h"
#include "support/temporary_folder.h"
#include "hostile_checkpoint/attempt.h"

namespace linformer_test::pickle_test {
namespace {

// Returns an archive of the pickle and one storage "0" of 8 floats.
std::string archive(const std::string& pickle) {
  std::string data;
  for (int i = 0; i < 8; ++i) data += raw(static_cast<float>(i));
  return zip_archive({{"a/data.pkl", pickle}, {"a/data/0", data}});
}

PickleWriter& add_weight_tensor(PickleWriter& pickle) {
  return pickle.text("w").begin_tensor().storage("FloatStorage", "0", 8).end_tensor(0, {8}, {1}).set_item();
}

std::string one_tensor(int64_t offset, const std::vector<int64_t>& shape, const std::vector<int64_t>& strides,
                       int64_t elements = 8) {
  PickleWriter pickle;
  pickle.empty_dict()
      .text("w")
      .begin_tensor()
      .storage("FloatStorage", "0", elements)
      .end_tensor(offset, shape, strides);
  return archive(pickle.set_item().stop());
}

std::string repeated(const std::string& unit, size_t times) {
  std::string all;
  all.reserve(unit.size() * times);
  for (size_t i = 0; i < times; ++i) all += unit;
  return all;
}

long peak_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

}  // namespace

TEST_CASE("a pickle that names os.system, eval and similar functions runs nothing") {
  TemporaryFolder folder;
  const std::string canary = folder.path("hacked"), command = "touch " + canary;
  const std::pair<const char*, const char*> functions[] = {{"os", "system"},
                                                           {"posix", "system"},
                                                           {"nt", "system"},
                                                           {"builtins", "eval"},
                                                           {"builtins", "exec"},
                                                           {"__builtin__", "eval"},
                                                           {"subprocess", "Popen"},
                                                           {"builtins", "__import__"},
                                                           {"torch", "load"},
                                                           {"torch.hub", "load"},
                                                           {"runpy", "_run_code"},
                                                           {"shutil", "rmtree"},
                                                           {"collections", "OrderedDict.__reduce__"},
                                                           {"torch._utils", "_rebuild_sparse_tensor"},
                                                           {"numpy.core.multiarray", "scalar"}};
  Attempts attempts("pickle, names of functions");
  for (const auto& [module, name] : functions) {
    // The state dict has the call beside a valid tensor. The reader doesn't execute the call and ignores its entry.
    PickleWriter beside;
    beside.empty_dict().text("extra").global(module, name).text(command).op('\x85').reduce().set_item();
    const std::string error = attempts.attempt(archive(add_weight_tensor(beside).stop()), false, name);
    if (std::string(module).starts_with("torch")) {
      CHECK(contains(error, "not supported"));  // torch would make a tensor of this entry of the state dict
    } else {
      CHECK(error.empty());
    }
    // The call is also tried as the only content of the file: as a plain call, as a new object with a state, and with
    // the function named by the opcode STACK_GLOBAL.
    PickleWriter whole;
    whole.global(module, name).text(command).op('\x85').reduce();
    CHECK(contains(attempts.attempt(archive(whole.stop()), false, name), "pickled object of class"));
    PickleWriter object;
    object.global(module, name).text(command).op('\x85').op('\x81').empty_dict().op('b');
    CHECK(contains(attempts.attempt(archive(object.stop()), false, name), "pickled object of class"));
    PickleWriter stack(4);
    stack.text(module).text(name).op('\x93').text(command).op('\x85').reduce();
    CHECK(contains(attempts.attempt(archive(stack.stop()), false, name), "pickled object of class"));
  }
  CHECK(!std::filesystem::exists(canary));
}

TEST_CASE("tensors that don't fit their storage are errors") {
  const int64_t huge = int64_t{1} << 62;
  const std::string cases[] = {one_tensor(0, {-1}, {1}),
                               one_tensor(-1, {1}, {1}),
                               one_tensor(0, {1}, {-1}),
                               one_tensor(0, {9}, {1}),
                               one_tensor(8, {1}, {1}),
                               one_tensor(1, {8}, {1}),
                               one_tensor(0, {2, 4}, {5, 1}),
                               one_tensor(0, {2}, {8}),
                               one_tensor(0, {huge, huge}, {huge, huge}),
                               one_tensor(0, {2, 2}, {huge, huge}),
                               one_tensor(huge, {2}, {huge}),
                               one_tensor(0, {huge}, {0}),
                               one_tensor(0, {1000000, 1000000}, {0, 0}),
                               one_tensor(0, {3, 3}, {0, 1}),
                               one_tensor(0, {1, 1, 1, 1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1, 1}),
                               one_tensor(0, {2, 2}, {1}),
                               one_tensor(0, {0, huge, huge, huge}, {1, 1, 1, 1}, 7),
                               one_tensor(0, {8}, {1}, huge),
                               one_tensor(0, {8}, {1}, -8)};
  Attempts attempts("pickle, lying tensors");
  for (const std::string& file : cases) CHECK(!attempts.attempt(file, false, "lying tensor").empty());
  CHECK(attempts.attempt(one_tensor(0, {0, 4}, {1, 1}), false, "empty tensor").empty());
  CHECK(attempts.attempt(one_tensor(7, {1, 1}, {5000, 9}), false, "one element, large strides").empty());
}

TEST_CASE("malformed storages and persistent ids are errors") {
  const std::function<void(PickleWriter&)> cases[] = {
      [](PickleWriter& p) { p.mark().text("storage").op('t').op('Q'); },
      [](PickleWriter& p) { p.text("storage").op('Q'); },
      [](PickleWriter& p) {
        p.mark().text("module").global("torch", "FloatStorage").text("0").text("cpu").integer(8).op('t').op('Q');
      },
      [](PickleWriter& p) { p.storage("QInt8Storage", "0", 8); },
      [](PickleWriter& p) { p.storage("FloatStorage", "../0", 8); },
      [](PickleWriter& p) { p.storage("FloatStorage", "", 8); },
      [](PickleWriter& p) { p.storage("FloatStorage", "1", 8); },
      [](PickleWriter& p) { p.storage("FloatStorage", "0", 8).op('0').storage("HalfStorage", "0", 8); },
      [](PickleWriter& p) { p.storage("FloatStorage", "0", 8).op('0').storage("FloatStorage", "0", 4); },
      [](PickleWriter& p) {
        p.mark().text("storage").global("torch", "FloatStorage").integer(0).text("cpu").integer(8).op('t').op('Q');
      },
      [](PickleWriter& p) { p.global("torch._utils", "_rebuild_tensor_v2").op(')').reduce(); },
      [](PickleWriter& p) { p.global("torch._utils", "_rebuild_parameter").op(')').reduce(); },
      [](PickleWriter& p) {
        p.global("torch._tensor", "_rebuild_from_type_v2")
            .mark()
            .global("torch._tensor", "_rebuild_from_type_v2")
            .none()
            .op(')')
            .none()
            .op('t')
            .reduce();
      }};
  Attempts attempts("pickle, storages");
  for (const auto& write : cases) {
    PickleWriter pickle;
    add_weight_tensor(pickle.empty_dict()).text("x");
    write(pickle);
    CHECK(!attempts.attempt(archive(pickle.set_item().stop()), false, "storage").empty());
  }
}

TEST_CASE("malformed opcodes are errors") {
  const std::string bad[] = {"",
                             ".",
                             "0.",
                             "1.",
                             "t.",
                             "a.",
                             "s.",
                             "e.",
                             "u.",
                             "b.",
                             "R.",
                             "\x81.",
                             "\x93.",
                             "Q.",
                             "h\x05.",
                             "j\xff\xff\xff\xff.",
                             "q\x01.",
                             "r\xff\xff\xff\xff.",
                             "N"
                             "r\xff\xff\xff\x7f.",
                             "X\xff\xff\xff\xffshort.",
                             "X\xff\xff\xff\x7f.",
                             "\x8c\xffshort",
                             "\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
                             "abc",
                             "\x8e\xff\xff\xff\xff\xff\xff\xff\x7f"
                             "abc",
                             "\x8b\xff\xff\xff\xff"
                             "1",
                             "\x8b\xff\xff\xff\x7f"
                             "1",
                             "\x8a\xff",
                             "G1234",
                             "J12",
                             "K",
                             "M1",
                             "cos\n",
                             "cos",
                             "c",
                             "ios\nsystem\n.",
                             "S'x'\n.",
                             "Pid\n.",
                             "I1\n.",
                             "o.",
                             "2.",
                             "\x82\x01.",
                             "\x97.",
                             "\x96"
                             "12345678",
                             "\x80\x09.",
                             "\x80",
                             "\x95"
                             "1",
                             "(((((((",
                             "Na.",
                             "NNs.",
                             "}Na.",
                             "]NNs.",
                             "(N\x85.",
                             "N)R.",
                             "N)\x81.",
                             "]Nb.)Q.",
                             "cos\nsystem\nNR.",
                             "cos\nsystem\n]R.",
                             "}(Nu.",
                             "(NNNu.",
                             "K\x01K\x02"
                             "a.",
                             "KaNb."};
  Attempts attempts("pickle, unsound opcodes");
  for (const std::string& opcodes : bad) {
    const std::string error = attempts.attempt(archive(std::string("\x80\x02") + opcodes), false, opcodes);
    CHECK(!error.empty());
  }
  // Every opcode byte is tried alone and on a stack of plausible values.
  for (int opcode = 0; opcode < 256; ++opcode) {
    const std::string op(1, static_cast<char>(opcode));
    for (const std::string& stack : {std::string(), std::string("(}X\x01\x00\x00\x00kN", 8),
                                     std::string("cos\nsystem\n)"), std::string("}}}"), std::string("(((]]")}) {
      attempts.attempt(archive(std::string("\x80\x04") + stack + op + "."), false, "opcode " + std::to_string(opcode));
      attempts.attempt(archive(std::string("\x80\x04") + stack + op + std::string(12, '\xff') + "."), false,
                       "opcode with operand");
      attempts.attempt(archive(std::string("\x80\x04") + stack + op + std::string(12, '\0') + "."), false,
                       "opcode with zeros");
    }
  }
}

TEST_CASE("bombs of nesting, sharing, cycles and large numbers take little time and memory") {
  const std::string deep(200000, ']');
  const std::string start("\x80\x02", 2);
  struct Case {
    const char* what;
    std::string pickle;
    bool sound;
  };
  const auto with_weight = [](const std::function<void(PickleWriter&)>& write) {
    PickleWriter pickle;
    pickle.empty_dict();
    write(pickle);
    return add_weight_tensor(pickle).stop();
  };
  // Each list contains the previous one twice, which makes 2^60 leaves in 60 nodes.
  const std::string doubling = with_weight([](PickleWriter& p) {
    p.text("bomb").op(']').append(std::string("q\x00", 2));
    for (int i = 1; i < 60; ++i) {
      const std::string previous{'h', static_cast<char>(i - 1)}, store{'q', static_cast<char>(i)};
      p.op(']').append(store).mark().append(previous).append(previous).op('e');
    }
    for (int i = 0; i < 59; ++i) p.op('\x86');
    p.set_item();
  });
  const std::string cycle = with_weight(
      [](PickleWriter& p) { p.text("self").op('}').append("q\x07").text("me").append("h\x07").set_item().set_item(); });
  const std::string model_cycle =
      PickleWriter().op('}').append("q\x07").text("model").append("h\x07").set_item().stop();
  const std::string deep_models = [] {
    PickleWriter p;
    for (int i = 0; i < 20000; ++i) p.empty_dict().text("model");
    p.none();
    for (int i = 0; i < 20000; ++i) p.set_item();
    return p.stop();
  }();
  // A dict of 1000 pairs is given 5000 times to a constructor that copies it.
  const std::string copies = with_weight([](PickleWriter& p) {
    p.text("bomb").empty_dict().mark();
    for (int i = 0; i < 1000; ++i) p.integer(i).none();
    p.op('u').append("q\x09");
    for (int i = 0; i < 5000; ++i) p.op('0').global("collections", "Counter").append("h\x09").op('\x85').reduce();
    p.set_item();
  });
  const std::string parent_chain = [] {  // a wrapper's state that contains the wrapper
    PickleWriter p;
    p.empty_dict()
        .text("cfg")
        .global("omegaconf.dictconfig", "DictConfig")
        .op(')')
        .op('\x81')
        .append("q\x05")
        .empty_dict();
    p.text("_content").append("h\x05").set_item().op('b').set_item();
    return add_weight_tensor(p.text("model").empty_dict()).set_item().stop();
  }();
  const Case cases[] = {
      {"200,000 nested lists", start + deep + std::string(199999, 'a') + ".", false},
      {"200,000 marks", start + std::string(200000, '(') + ".", false},
      {"nested tuples", start + ")" + std::string(500000, '\x85') + ".", false},
      {"shared lists", doubling, true},
      {"a dict in itself", cycle, true},
      {"a model in itself", model_cycle, false},
      {"20,000 nested models", deep_models, false},
      {"settings in themselves", parent_chain, true},
      {"copied dicts", copies, false},
      {"3,000,000 values", start + "]" + "(" + std::string(3000000, 'N') + "e.", false},
      {"3,000,000 pushes of one", start + "Nq\x01" + repeated("h\x01", 3000000) + ".", false},
      {"1,000,000 memo entries", start + "N" + repeated(std::string("r\xff\xff\x0f\x00", 5), 100000) + ".", false},
      {"a large integer", start + std::string("\x8b\x00\x00\x00\x01", 5) + std::string(1 << 24, '\x55') + ".", false},
  };
  const long before = peak_kilobytes();
  Attempts attempts("pickle, bombs");
  for (const Case& c : cases) {
    CAPTURE(c.what);
    const std::string error = attempts.attempt(archive(c.pickle), true, c.what);
    CAPTURE(error);
    // The conversion always ends in an error, because none of the files is a fairseq model.
    CHECK(!error.empty());
    CHECK(contains(error, "no supported implementation") == c.sound);
  }
  std::printf("peak memory grew by %ld MB over the bombs\n", (peak_kilobytes() - before) / 1024);
#if !defined(__SANITIZE_ADDRESS__)
  CHECK(peak_kilobytes() - before < 512 * 1024);
#endif
}

TEST_CASE("malformed legacy files are errors") {
  const std::vector<HandTensor> tensors{{"w", {2, 2}, {1, 2, 3, 4}, DataType::f32}};
  const std::string sound = torch_legacy(tensors);
  const size_t data = sound.size() - 16 - 8;
  const auto patched = [&](size_t at, const std::string& bytes) {
    return std::string(sound).replace(at, bytes.size(), bytes);
  };
  const std::string magic = PickleWriter().append("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19").stop();
  const std::string protocol = PickleWriter().integer(1001).stop();
  const std::string big = PickleWriter().empty_dict().text("little_endian").boolean(false).set_item().stop();
  const std::string little = PickleWriter().empty_dict().text("little_endian").boolean(true).set_item().stop();
  PickleWriter object;
  object.empty_dict().text("w").begin_tensor().storage("FloatStorage", "k", 1, true).end_tensor(0, {1}, {1}).set_item();
  const auto file = [&](const std::function<void(PickleWriter&)>& keys, const std::string& tail) {
    PickleWriter list;
    list.op(']');
    keys(list);
    return magic + protocol + little + object.stop() + list.stop() + tail;
  };
  const std::string element = raw(int64_t{1}) + raw(2.5f);
  const auto add = [](PickleWriter& p, const char* key) { p.text(key).op('a'); };
  Attempts attempts("legacy, hand-made");
  CHECK(attempts.attempt(file([&](PickleWriter& p) { add(p, "k"); }, element), false, "sound").empty());
  const std::pair<const char*, std::string> cases[] = {
      {"elements -1", patched(data, raw(int64_t{-1}))},
      {"elements 2^62", patched(data, raw(int64_t{1} << 62))},
      {"elements 3", patched(data, raw(int64_t{3}))},
      {"wrong magic", PickleWriter().integer(5).stop() + protocol + little},
      {"only magic", magic},
      {"wrong protocol", magic + PickleWriter().integer(1002).stop() + little},
      {"big-endian", magic + protocol + big + object.stop()},
      {"no system", magic + protocol + PickleWriter().none().stop() + object.stop()},
      {"key twice", file([&](PickleWriter& p) { add(p, "k"), add(p, "k"); }, element + element)},
      {"unknown key", file([&](PickleWriter& p) { add(p, "k"), add(p, "z"); }, element + element)},
      {"no key", file([](PickleWriter&) {}, "")},
      {"key no text", file([](PickleWriter& p) { p.integer(7).op('a'); }, element)},
      {"data after", file([&](PickleWriter& p) { add(p, "k"); }, element + "x")},
      {"keys no list", magic + protocol + little + object.stop() + PickleWriter().none().stop()},
  };
  for (const auto& lie : cases) {
    CAPTURE(lie.first);
    CHECK(!attempts.attempt(lie.second, false, lie.first).empty());
  }
}

}  // namespace linformer_test::pickle_test
