#include "files/hub_name.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace linformer::files {

std::string hub_name_advice(const std::string& path) {
  constexpr size_t longest = 96 * 2;  // An owner and a name have at most 96 characters each.
  std::error_code error;
  if (path.empty() || path.size() > longest || std::filesystem::exists(path, error)) return "";
  const auto allowed = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '/';
  };
  if (!std::all_of(path.begin(), path.end(), allowed) || std::isalnum(static_cast<unsigned char>(path[0])) == 0)
    return "";
  const size_t slash = path.find('/');
  const std::string name = slash == path.npos ? path : path.substr(slash + 1);
  if (name.empty() || name.find('/') != name.npos) return "";
  // A name without an owner is recognised only if it has a hyphen and no dot, as bert-base-uncased has. If the part
  // before the slash is an existing folder, or the name ends like a model file, then the user meant a path.
  if (slash == path.npos ? path.find('-') == path.npos || path.find('.') != path.npos
                         : std::filesystem::exists(path.substr(0, slash), error)) {
    return "";
  }
  for (const char* ending : {".pt", ".pth", ".bin", ".ckpt", ".safetensors", ".lnfr", ".json"}) {
    if (name.ends_with(ending)) return "";
  }
  return "Models of the Hugging Face Hub are not downloaded by this program: get the folder with 'hf download " + path +
         " --local-dir " + name + "'";
}

}  // namespace linformer::files
