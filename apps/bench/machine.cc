#include "bench/machine.h"

#include <fstream>
#include <set>
#include <sstream>

namespace linformer::bench {
namespace {

// The names in /proc/cpuinfo of the extensions that are reported. The kernels use all of them but avx_vnni.
constexpr const char* asked_for[] = {"avx2",        "fma",      "f16c",     "avx512f",  "avx512_vnni",
                                     "avx512_bf16", "avx_vnni", "amx_tile", "amx_bf16", "amx_int8",
                                     "asimd",       "asimddp",  "bf16",     "i8mm"};

}  // namespace

Machine this_machine() {
  Machine machine;
  machine.processor = "unknown processor";
  std::ifstream in("/proc/cpuinfo");
  std::set<std::string> flags;
  for (std::string line; std::getline(in, line) && !line.empty();) {  // An empty line ends the first processor.
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string value = line.substr(colon + 2);
    if (line.starts_with("model name")) machine.processor = value;
    if (!line.starts_with("flags") && !line.starts_with("Features")) continue;
    std::istringstream words(value);
    for (std::string word; words >> word;) flags.insert(word);
  }
  for (const char* flag : asked_for) {
    if (!flags.contains(flag)) continue;
    if (!machine.instructions.empty()) machine.instructions.push_back(' ');
    machine.instructions.append(flag);
  }
  machine.system = system_name();
#if defined(__clang__)
  machine.compiler = __VERSION__;
#elif defined(__GNUC__)
  machine.compiler = "GCC " __VERSION__;
#endif
  return machine;
}

void to_json(nlohmann::ordered_json& json, const Machine& machine) {
  json = {{"processor", machine.processor},
          {"instructions", machine.instructions},
          {"system", machine.system},
          {"compiler", machine.compiler}};
  if (!machine.device.empty()) json["device"] = machine.device;
}

}  // namespace linformer::bench
