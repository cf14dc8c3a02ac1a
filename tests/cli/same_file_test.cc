// Tests that no output replaces a file that the same command reads.
#include "files/same_file.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "arrays.h"
#include "base/description.h"
#include "process.h"
#include "sentiment_model.h"

namespace linformer_test::same_file_test {
namespace {

namespace fs = std::filesystem;

struct Writing {
  std::vector<std::string> arguments;  // the last argument is the option that names the output
  std::vector<std::string> read;
};

struct Fixture : CliFixture {
  Fixture() : CliFixture({.embedding = true}) {
    fs::create_symlink(model(), path("model link"));
    fs::create_symlink(texts, path("text link"));
  }
  std::string texts = file("in.txt", "good\nbad\n"), ids = file("ids.jsonl", "[2,5,3]\n"),
              rows = file("ids.npy", npy_of_ids({{2, 5, 3}}));

  std::vector<Writing> programs() const {
    return {{{"embed", model(), "-i", texts, "-o"}, {model(), texts}},
            {{"embed", model(), "-i", texts, "--json", "-o"}, {model(), texts}},
            {{"encode", model(), "-i", texts, "-o"}, {model(), texts}},
            {{"encode", model(), "--ids", rows, "-o"}, {model(), rows}},
            {{"encode", model(), "--vectors", rows, "-o"}, {model(), rows}},
            {{"classify", model(), "-i", texts, "--logits"}, {model(), texts}},
            {{"classify", model(), "--vectors", rows, "--logits"}, {model(), rows}},
            {{"perplexity", model(), "-i", texts, "--dump-masks"}, {model(), texts}},
            {{"perplexity", model(), "--ids", ids, "--dump-masks"}, {model(), ids}},
            {{"spectrum", model(), "-i", texts, "--csv"}, {model(), texts}},
            {{"spectrum", model(), "-i", texts, "--svg"}, {model(), texts}},
            {{"spectrum", model(), "--ids", ids, "--html"}, {model(), ids}}};
  }
};

Ran shell(const std::string& script) { return run_program("/bin/sh", {"-c", "exec " LINFORMER_PROGRAM " " + script}); }

}  // namespace

TEST_CASE("an output that is the model or an input is refused, whatever name leads to the file") {
  const Fixture f;
  const std::string model = read_file(f.model());
  const int64_t files = f.entry_count();
  for (const Writing& program : f.programs()) {
    std::vector<std::string> names = program.read;
    names.push_back(f.path("./model.lnfr"));
    names.push_back(f.path("model link"));
    if (program.read[1] == f.texts) names.push_back(f.path("text link"));
    for (const std::string& name : names) {
      std::vector<std::string> arguments = program.arguments;
      arguments.push_back(name);
      CAPTURE(arguments[0]);
      CAPTURE(name);
      const Ran ran = run(arguments);
      CHECK(ran.code == 2);
      CHECK(ran.out == "");
      CHECK(lines_of(ran.err).size() == 1);
      CHECK(ran.err.find(program.arguments.back() + " " + name + " would replace ") != std::string::npos);
    }
  }
  CHECK(read_file(f.model()) == model);
  CHECK(read_file(f.texts) == "good\nbad\n");
  CHECK(f.entry_count() == files);
}

TEST_CASE("a file that the shell opened as standard input or output is compared too") {
  const Fixture f;
  const std::string quoted = "'" + f.model() + "'", texts = "'" + f.texts + "'";
  for (const std::string& script :
       {"embed " + quoted + " - -o " + texts + " <" + texts, "embed " + quoted + " -i - -o " + texts + " <" + texts,
        "embed " + quoted + " -i " + texts + " -o /dev/fd/3 3<" + texts,
        "tokenize " + quoted + " -i " + texts + " >>" + texts, "fill-mask " + quoted + " - <" + texts + " >>" + texts,
        "classify " + quoted + " -i " + texts + " >>" + texts}) {
    CAPTURE(script);
    const Ran ran = shell(script);
    CHECK(ran.code == 2);
    CHECK(lines_of(ran.err).size() == 1);
    CHECK(read_file(f.texts) == "good\nbad\n");
  }
  // A redirected file that the command doesn't read, devices, and another file in the same folder are not refused.
  CHECK(shell("classify " + quoted + " good <" + texts + " >>" + texts).code == 0);
  CHECK(shell("classify " + quoted + " -i /dev/null >/dev/null").code == 0);
  CHECK(shell("embed " + quoted + " -i " + texts + " -o '" + f.path("other.npy") + "'").code == 0);
}

TEST_CASE("two outputs of the same name are refused, whether or not the file exists") {
  const Fixture f;
  const std::string there = f.file("there", "old");
  const int64_t files = f.entry_count();
  for (const auto& outputs : {std::pair{there, there}, {there, f.path("./there")}, {f.path("new"), f.path("./new")}}) {
    const std::string &csv = outputs.first, &svg = outputs.second;
    CAPTURE(svg);
    const Ran ran = run({"spectrum", f.model(), "-i", f.texts, "--csv", csv, "--svg", svg});
    CHECK(ran.code == 2);
    CHECK(ran.out == "");
    CHECK(ran.err.find("--csv and --svg both name " + svg) != std::string::npos);
  }
  CHECK(read_file(there) == "old");
  CHECK(f.entry_count() == files);
  // Both outputs may have the name of one device. The command then fails only because the model compresses its keys.
  const Ran devices = run({"spectrum", f.model(), "-i", f.texts, "--csv", "/dev/null", "--svg", "/dev/null"});
  CHECK(devices.code == 1);
  CHECK(devices.err.find("compresses its keys") != std::string::npos);
}

TEST_CASE("same_file: only regular files that exist can be the same file") {
  const Fixture f;
  fs::create_hard_link(f.texts, f.path("second name"));
  const std::vector<std::string> read = {"", f.path("absent"), "/dev/null", f.path(""), f.path("text link")};
  CHECK(linformer::files::same_file(f.texts, read) == &read[4]);
  CHECK(linformer::files::same_file(f.path("second name"), read) == &read[4]);
  for (const std::string& other : {std::string(), f.path("absent"), std::string("/dev/null"), f.path(""), f.model()}) {
    CHECK(linformer::files::same_file(other, read) == nullptr);
  }
}

}  // namespace linformer_test::same_file_test
