// What `linformer bench` prints.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/limits.h"
#include "bench/machine.h"
#include "bench/measure.h"

namespace linformer::bench {

struct ReportRow {
  std::string model;  // the file, or "base, k 128"
  Case what;
  std::optional<Measurement> measurement;
  std::string error;  // where there is none
};

struct Report {
  int threads = 1;
  Machine machine;
  Limits limits;
  std::vector<ReportRow> rows;
};

// The program, the machine and its limits.
std::string machine_text(const Machine& machine, const Limits& limits, int threads);
nlohmann::ordered_json machine_json(const Machine& machine, const Limits& limits, int threads);

std::string report_text(const Report& report);
nlohmann::ordered_json report_json(const Report& report);

}  // namespace linformer::bench
