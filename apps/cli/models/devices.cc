#include "models/devices.h"

#include <charconv>
#include <string_view>

#include "command_line/errors.h"

namespace linformer::cli {

BackendKind parse_backend(const std::string& name) {
  if (name == "onednn") return BackendKind::onednn;
  return name == "openblas" ? BackendKind::openblas : BackendKind::native;
}

int parse_device_number(const std::string& name) {
  constexpr std::string_view prefix = "cuda:";
  if (name == "cpu") return -1;
  if (name == "cuda") return 0;
  int number = -1;
  if (name.starts_with(prefix)) {
    const char* const end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + prefix.size(), end, number);
    if (error != std::errc() || stop != end) number = -1;
  }
  if (number < 0)
    throw UsageError("--device " + name + ": give cpu, cuda or cuda:N, where N is a device number from 0");
  return number;
}

std::string device_name(int device) { return device < 0 ? "cpu" : "cuda:" + std::to_string(device); }

Isa parse_isa(const std::string& name) {
  for (const Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512, Isa::neon}) {
    if (name == name_of(isa)) return isa;
  }
  return Isa::automatic;
}

}  // namespace linformer::cli
