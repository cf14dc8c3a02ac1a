#include "input/bytes/file_kind.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace linformer::cli {
namespace {

using namespace std::string_view_literals;

constexpr const char* text_formats = "give text lines, JSON lines, CSV or TSV";
constexpr const char* is_a_model =
    "convert it to a MODEL with linformer-convert; give texts as text lines, JSON lines, CSV or TSV";
constexpr const char* save_as_csv = "save the sheet as CSV and give that file";
constexpr const char* from_utf16 = "convert it first: iconv -f UTF-16 -t UTF-8";
constexpr const char* from_utf32 = "convert it first: iconv -f UTF-32 -t UTF-8";
constexpr const char* save_as_text = "save it as plain text (UTF-8) and give that file";

struct Kind {
  std::string_view start;
  const char* what;
  const char* next;
};

// The beginnings of files that are not text. Hardly any text in UTF-8 or an 8-bit encoding begins with one of them.
constexpr Kind kinds[] = {
    {"\x89LNFR"sv, "a model file (.lnfr)", "name it in the place of MODEL, and give texts in a file of another kind"},
    {"\x80\x02\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20"sv, "a PyTorch file", is_a_model},
    {"\x80\x02"sv, "a Python pickle", "write its texts as JSON lines"},
    {"\x80\x03"sv, "a Python pickle", "write its texts as JSON lines"},
    {"\x80\x04"sv, "a Python pickle", "write its texts as JSON lines"},
    {"\x80\x05"sv, "a Python pickle", "write its texts as JSON lines"},
    {npy_magic, "a NumPy array (npy)", "'encode --ids' reads token ids, --vectors reads vectors"},
    {"ARROW1\0\0"sv, "an Arrow file",
     "write it as JSON lines: pandas.read_feather(FILE).to_json(OUT, orient='records', lines=True)"},
    {"Obj\x01"sv, "an Avro file", "write it as JSON lines"},
    {"\x89HDF\r\n\x1A\n"sv, "an HDF5 file", "write its texts as JSON lines"},
    {"SQLite format 3\0"sv, "an SQLite database", "export it: sqlite3 -header -csv FILE 'select * from TABLE'"},
    {"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"sv, "an old Office document (xls, doc)", "save it as CSV or plain text"},
    {"%PDF-"sv, "a PDF document", "extract its text: pdftotext FILE -"},
    {"{\\rtf"sv, "an RTF document", save_as_text},
    {"\x89PNG\r\n\x1A\n"sv, "a PNG image", text_formats},
    {"\xFF\xD8\xFF"sv, "a JPEG image", text_formats},
    {"\xFD"
     "7zXZ\0"sv,
     "compressed by xz", "pipe it in: xzcat FILE | linformer ... -"},
    {"\x28\xB5\x2F\xFD"sv, "compressed by zstd", "pipe it in: zstdcat FILE | linformer ... -"},
    {"\x04\x22\x4D\x18"sv, "compressed by lz4", "pipe it in: lz4cat FILE | linformer ... -"},
    {gzip_magic, "compressed by gzip twice", "pipe it in: zcat FILE | linformer ... -"},
    {"7z\xBC\xAF\x27\x1C"sv, "a 7-Zip archive", "unpack it first"},
    {"Rar!\x1A\x07"sv, "a RAR archive", "unpack it first"},
    {"version https://git-lfs.github.com/"sv, "a Git LFS pointer without the file's data", "fetch it: git lfs pull"},
    {"\xFF\xFE\0\0"sv, "UTF-32", from_utf32},
    {"\0\0\xFE\xFF"sv, "UTF-32", from_utf32},
    {"\xFF\xFE"sv, "UTF-16", from_utf16},
    {"\xFE\xFF"sv, "UTF-16", from_utf16},
};

std::string sentence(const char* what, const char* next) { return std::string(what) + "; " + next; }

// Returns the names of those entries of a zip archive whose headers are within `start`.
std::vector<std::string_view> entries_of(std::string_view start) {
  constexpr size_t name_length_at = 26, name_at = 30;
  std::vector<std::string_view> names;
  for (size_t at = 0; (at = start.find(zip_magic, at)) != std::string_view::npos; at += zip_magic.size()) {
    if (start.size() - at < name_at) break;
    const auto byte = [&](size_t offset) { return static_cast<size_t>(static_cast<uint8_t>(start[at + offset])); };
    names.push_back(start.substr(at + name_at, byte(name_length_at) | byte(name_length_at + 1) << 8));
  }
  return names;
}

std::string zip_kind(std::string_view start) {
  const std::vector<std::string_view> names = entries_of(start);
  const auto any = [&](auto is) { return std::any_of(names.begin(), names.end(), is); };
  const auto in = [&](std::string_view folder) {
    return any([&](std::string_view name) { return name.starts_with(folder); });
  };
  const auto ending = [&](std::string_view end) {
    return any([&](std::string_view name) { return name.ends_with(end); });
  };
  if (in("xl/")) return sentence("an Excel workbook (xlsx)", save_as_csv);
  if (in("word/")) return sentence("a Word document (docx)", save_as_text);
  if (in("ppt/")) return sentence("a PowerPoint file (pptx)", save_as_text);
  if (start.find("mimetypeapplication/vnd.oasis.opendocument.spreadsheet") != std::string_view::npos) {
    return sentence("an OpenDocument sheet (ods)", save_as_csv);
  }
  if (start.find("mimetypeapplication/vnd.oasis.opendocument") != std::string_view::npos) {
    return sentence("an OpenDocument file (odt)", save_as_text);
  }
  if (start.find("mimetypeapplication/epub+zip") != std::string_view::npos) {
    return sentence("an EPUB book", save_as_text);
  }
  if (ending("/data.pkl")) return sentence("a PyTorch file", is_a_model);
  if (ending(".npy")) return sentence("a NumPy archive (npz)", "save one array of it as npy: numpy.save");
  if (in("[Content_Types].xml")) return sentence("an Office document (xlsx, docx)", "save it as CSV or plain text");
  return sentence("a zip archive", "unpack it, or pipe one file in: unzip -p FILE NAME | linformer ... -");
}

// Returns whether a file is Parquet. A CSV file may begin with PAR1 too, if its first column has that name, so the byte
// after PAR1 must not be a printable character.
bool is_parquet(std::string_view start) {
  return start.starts_with("PAR1") && (start.size() == 4 || start[4] < ' ' || start[4] > '~');
}

// Returns whether a file is bzip2: it begins with "BZh", a digit for the size of its blocks, and the mark of the first
// block.
bool is_bzip2(std::string_view start) { return start.starts_with("BZh") && start.find("1AY&SY") == 4; }

bool is_safetensors(std::string_view start) {
  // The file begins with the length of its header in eight bytes, and then the header as JSON.
  return start.size() > 9 && start.substr(5, 3) == "\0\0\0"sv && start[8] == '{' &&
         (start[9] == '"' || start[9] == '}');
}

}  // namespace

std::string file_kind(std::string_view start) {
  if (start.starts_with(zip_magic)) return zip_kind(start);
  if (start.starts_with("PK\x05\x06"sv)) return sentence("an empty zip archive", text_formats);
  if (is_safetensors(start)) return sentence("a safetensors file", is_a_model);
  if (is_parquet(start)) {
    return sentence("a Parquet file",
                    "write it as JSON lines: pandas.read_parquet(FILE).to_json(OUT, orient='records', lines=True)");
  }
  if (is_bzip2(start)) return sentence("compressed by bzip2", "pipe it in: bzcat FILE | linformer ... -");
  for (const Kind& kind : kinds) {
    if (start.starts_with(kind.start)) return sentence(kind.what, kind.next);
  }
  constexpr size_t tar_magic_at = 257;
  if (start.size() > tar_magic_at && start.substr(tar_magic_at).starts_with("ustar")) {
    return sentence("a tar archive", "pipe one file of it in: tar -xOf FILE NAME | linformer ... -");
  }
  return {};
}

std::string binary_kind(std::string_view start, size_t nul_offset) {
  // UTF-16 encodes an ASCII character as its byte and a NUL byte, so every second byte of such a text is NUL.
  const std::string_view sample = start.substr(0, std::min<size_t>(start.size(), 64) & ~size_t{1});
  size_t nul[2] = {};
  for (size_t i = 0; i < sample.size(); ++i) nul[i % 2] += sample[i] == '\0';
  const size_t half = sample.size() / 2;
  if (half >= 2 && nul[1] * 10 >= half * 9 && nul[0] == 0) {
    return sentence("UTF-16", "convert it first: iconv -f UTF-16LE -t UTF-8");
  }
  if (half >= 2 && nul[0] * 10 >= half * 9 && nul[1] == 0) {
    return sentence("UTF-16", "convert it first: iconv -f UTF-16BE -t UTF-8");
  }
  return sentence(("binary data (byte " + std::to_string(nul_offset) + " is NUL)").c_str(), text_formats);
}

}  // namespace linformer::cli
