// Tests that input in another format or another encoding than UTF-8 text is refused, and that the error names the
// format. It doesn't matter whether the input is a file, a redirection or a pipe.
#include <doctest/doctest.h>

#include "arrays.h"
#include "command_line/errors.h"
#include "input/records.h"
#include "input_files.h"
#include "process.h"
#include "sentiment_model.h"

namespace linformer_test::input_formats_test {

using namespace linformer::cli;
using nlohmann::json;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string bytes(const char* start, size_t count) { return std::string(start, count); }

struct Kind {
  std::string content, name, next;
};

std::string utf16(const std::string& text, bool little) {
  std::string result;
  for (const char c : text) result += little ? std::string({c, '\0'}) : std::string({'\0', c});
  return result;
}

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {zip_headers({"[Content_Types].xml", "_rels/.rels", "xl/workbook.xml"}), "an Excel workbook (xlsx)", "CSV"},
      {zip_headers({"[Content_Types].xml", "word/document.xml"}), "a Word document (docx)", "plain text"},
      {zip_headers({"[Content_Types].xml"}), "an Office document (xlsx, docx)", "CSV or plain text"},
      {zip_headers({"archive/data.pkl", "archive/data/0"}), "a PyTorch file", "linformer-convert"},
      {zip_headers({"arr_0.npy"}), "a NumPy archive (npz)", "numpy.save"},
      {zip_headers({"reviews.txt"}), "a zip archive", "unzip -p"},
      {bytes("PAR1\x15\0\x15\x10", 8), "a Parquet file", "read_parquet"},
      {bytes("\x89LNFR\r\n\x1a\1\0\0\0", 12), "a model file (.lnfr)", "MODEL"},
      {bytes("\x80\x02\x8a\nl\xfc\x9c"
             "F\xf9 j\xa8P\x19.",
             15),
       "a PyTorch file", "linformer-convert"},
      {bytes("\x80\x04\x95\x10\0\0\0", 7), "a Python pickle", "JSON lines"},
      {bytes("\x40\0\0\0\0\0\0\0{\"w\":{}", 14), "a safetensors file", "linformer-convert"},
      {npy_of_ids({{2, 5, 3}}), "a NumPy array (npy)", "--ids"},
      {bytes("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1\0\0", 10), "an old Office document", "CSV or plain text"},
      {"%PDF-1.7\n", "a PDF document", "pdftotext"},
      {"BZh91AY&SYxxxx", "compressed by bzip2", "bzcat"},
      {bytes("\xFD"
             "7zXZ\0\0",
             7),
       "compressed by xz", "xzcat"},
      {bytes("\x28\xB5\x2F\xFD\4\0", 6), "compressed by zstd", "zstdcat"},
      {gzipped(gzipped("good\n")), "compressed by gzip twice", "zcat"},
      {gzipped(zip_headers({"xl/workbook.xml"})), "an Excel workbook (xlsx)", "CSV"},
      {bytes("\xFF\xFEg\0o\0\n\0", 8), "UTF-16", "iconv -f UTF-16 "},
      {bytes("\xFE\xFF\0g\0o", 6), "UTF-16", "iconv -f UTF-16 "},
      {bytes("\xFF\xFE\0\0g\0\0\0", 8), "UTF-32", "iconv -f UTF-32 "},
      {utf16("good film\nbad\n", true), "UTF-16", "iconv -f UTF-16LE"},
      {utf16("good film\nbad\n", false), "UTF-16", "iconv -f UTF-16BE"},
      {bytes("good\nba\0d\n", 10), "binary data (byte 7 is NUL)", "text lines, JSON lines, CSV or TSV"},
      {std::string(60000, 'x') + "\n" + std::string(1, '\0'), "binary data (byte 60001 is NUL)", "CSV or TSV"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "a Git LFS pointer", "git lfs pull"},
  };
  return all;
}

std::string refusal(const std::string& content, Format format) {
  const Folder folder;
  ByteSource source(folder.file("input", content));
  try {
    const auto reader = open_records(&source, format, {}, {});
    for (Record record; reader->next(&record);) {
    }
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("input that isn't text is refused by its format's name, whatever --format says") {
  for (const Kind& kind : kinds()) {
    CAPTURE(kind.name);
    for (const Format format : {Format::text, Format::jsonl, Format::csv, Format::tsv}) {
      const std::string sentence = refusal(kind.content, format);
      CAPTURE(sentence);
      CHECK(has(sentence, "input is " + kind.name));
      CHECK(has(sentence, kind.next));
    }
  }
}

TEST_CASE("input that isn't text is refused in the same way from a file, a redirection and a pipe") {
  const CliFixture f;
  for (const Kind& kind : kinds()) {
    CAPTURE(kind.name);
    const std::string path = f.file("input", kind.content);
    const std::string command = std::string(LINFORMER_PROGRAM) + " classify " + f.model() + " - --json ";
    const Ran runs[] = {run({"classify", f.model(), "--input", path, "--json"}),
                        run_program("/bin/sh", {"-c", command + "<" + path}),
                        run({"classify", f.model(), "-", "--json"}, kind.content)};
    for (const Ran& ran : runs) {
      CAPTURE(ran.err);
      CHECK(ran.code == 1);
      CHECK(ran.out == "");
      CHECK(lines_of(ran.err).size() == 1);
      CHECK(has(ran.err, " is " + kind.name));
      CHECK(has(ran.err, kind.next));
    }
  }
}

TEST_CASE("every command that reads text refuses input that isn't text") {
  const CliFixture f({.embedding = true});
  const std::string path = f.file("weights.pt", zip_headers({"weights/data.pkl"})), out = f.path("out.npy");
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"classify", f.model(), "-i", path},
                                             {"embed", f.model(), "-i", path, "-o", out},
                                             {"encode", f.model(), "-i", path, "-o", out},
                                             {"encode", f.model(), "--ids", path, "-o", out},
                                             {"tokenize", f.model(), "-i", path},
                                             {"fill-mask", f.model(), "-i", path},
                                             {"perplexity", f.model(), "-i", path},
                                             {"perplexity", f.model(), "--ids", path}}) {
    CAPTURE(json(arguments).dump());
    const Ran ran = run(arguments);
    CAPTURE(ran.err);
    CHECK(ran.code == 1);
    CHECK(ran.out == "");
    CHECK(has(ran.err, "weights.pt is a PyTorch file; convert it to a MODEL with linformer-convert"));
  }
  CHECK(f.entry_count() == 2);
}

TEST_CASE("texts whose first bytes resemble another format are read as texts") {
  for (const std::string& text : std::vector<std::string>{
           "PAR1,PAR2,PAR3", "PK", "PK\x03 is a chunk", "BZhang", "Obj", "%PD", "7zip", "GIF", "{\\", "\x1F", "\xFF",
           "\xFEx", "\x80uro", "\x89tat", "SQLite format 3", "ARROW1", "\xEF\xBB\xBF\xEF\xBB\xBF", "@\t{\"a\""}) {
    CAPTURE(text);
    CHECK(refusal(text, Format::text) == "");
    CHECK(refusal(text + "\nmore\n", Format::text) == "");
  }
}

TEST_CASE("a NUL far into a text makes its record bad, and the others are answered") {
  const CliFixture f;
  std::string input;
  while (input.size() <= ByteSource::text_proof_bytes) input += "good\n";
  const size_t before = static_cast<size_t>(std::count(input.begin(), input.end(), '\n'));
  const std::string nul(1, '\0');
  const Ran text = run({"classify", f.model(), "-"}, input + "ba" + nul + "d\nbad\n");
  CHECK(text.code == 1);
  const auto lines = lines_of(text.out);
  REQUIRE(lines.size() == before + 2);
  CHECK(has(lines[before], "ERROR\t\tstandard input:" + std::to_string(before + 1) +
                               ": a NUL at byte 3, which text must not contain"));
  CHECK(has(lines[before + 1], "\tneg\t"));
  for (const char* format : {"csv", "tsv"}) {
    const Ran table = run({"classify", f.model(), "-", "--format", format}, "text\n" + input + "ba" + nul + "d\nbad\n");
    CHECK(table.code == 1);
    CHECK(lines_of(table.out).size() == before + 2);
    CHECK(has(table.out, "a NUL at byte 3"));
  }
  CHECK(run({"classify", f.model(), "-", "--format", "jsonl"}, "{\"text\":\"a\\u0000b\"}\n").code == 0);
}

}  // namespace linformer_test::input_formats_test
