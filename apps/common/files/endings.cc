#include "files/endings.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>

#include "files/output_target.h"
#include "files/write_error.h"

namespace linformer::files {
namespace {

// An ending of file names, and the format that it stands for, in words for the error message.
struct Ending {
  std::string_view ending;
  const char* says;
};
constexpr Ending endings[] = {{".lnfr", "a model file"},
                              {".safetensors", "safetensors"},
                              {".pt", "a PyTorch file"},
                              {".pth", "a PyTorch file"},
                              {".ckpt", "a PyTorch file"},
                              {".pkl", "a pickle"},
                              {".onnx", "an ONNX model"},
                              {".gguf", "a GGUF model"},
                              {".h5", "HDF5"},
                              {".hdf5", "HDF5"},
                              {".npy", "an array (npy)"},
                              {".npz", "a NumPy archive (npz)"},
                              {".parquet", "a Parquet table"},
                              {".json", "JSON"},
                              {".jsonl", "JSON lines"},
                              {".ndjson", "JSON lines"},
                              {".csv", "CSV"},
                              {".tsv", "TSV"},
                              {".xlsx", "an Excel workbook"},
                              {".txt", "text"},
                              {".svg", "a picture in SVG"},
                              {".png", "a PNG image"},
                              {".jpg", "a JPEG image"},
                              {".jpeg", "a JPEG image"},
                              {".pdf", "a PDF document"},
                              {".html", "a page in HTML"},
                              {".htm", "a page in HTML"},
                              {".gz", "data compressed by gzip"},
                              {".xz", "data compressed by xz"},
                              {".zst", "data compressed by zstd"},
                              {".bz2", "data compressed by bzip2"},
                              {".zip", "a zip archive"},
                              {".tar", "a tar archive"}};

struct Format {
  FileFormat format;
  const char* what;
  std::string_view usual;
  std::string_view also[3] = {};  // Further endings that are accepted for this format.
};
constexpr Format formats[] = {{FileFormat::model, "a model file", ".lnfr"},
                              {FileFormat::safetensors, "safetensors", ".safetensors"},
                              {FileFormat::npy, "an array (npy)", ".npy"},
                              {FileFormat::json_lines, "JSON lines", ".jsonl", {".json", ".ndjson", ".txt"}},
                              {FileFormat::csv, "CSV", ".csv", {".txt"}},
                              {FileFormat::tsv, "TSV", ".tsv", {".txt"}},
                              {FileFormat::text, "text", ".txt"},
                              {FileFormat::svg, "a picture in SVG", ".svg"},
                              {FileFormat::html, "a page in HTML", ".html", {".htm"}}};

bool is_file(const std::string& path) {
  try {
    return output_target(path).kind == OutputTarget::Kind::file;
  } catch (const WriteError&) {
    return false;  // The caller will get the same error when it opens the output.
  }
}

}  // namespace

std::string wrong_ending_message(const std::string& path, FileFormat format) {
  std::string ending = std::filesystem::path(path).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto* const known = std::find_if(std::begin(endings), std::end(endings),
                                         [&](const Ending& candidate) { return candidate.ending == ending; });
  const auto* const written = std::find_if(std::begin(formats), std::end(formats),
                                           [&](const Format& candidate) { return candidate.format == format; });
  if (known == std::end(endings) || ending == written->usual) return "";
  if (std::find(std::begin(written->also), std::end(written->also), ending) != std::end(written->also)) return "";
  if (!is_file(path)) return "";
  return path + " would hold " + written->what + " and not " + known->says + ": end its name in " +
         std::string(written->usual);
}

}  // namespace linformer::files
