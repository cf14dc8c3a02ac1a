// Writes the results of `linformer bench` as text and as JSON.
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
  std::string model;  // The name of the file, or a text such as "base, k 128".
  Case what;
  std::optional<Measurement> measurement;
  std::string error;  // The reason if there is no measurement.
};

struct Report {
  int threads = 1;
  Machine machine;
  Limits limits;
  std::vector<ReportRow> rows;
};

// Return a description of the program, the machine and its limits.
std::string machine_text(const Machine& machine, const Limits& limits, int threads);
nlohmann::ordered_json machine_json(const Machine& machine, const Limits& limits, int threads);

std::string report_text(const Report& report);
nlohmann::ordered_json report_json(const Report& report);

}  // namespace linformer::bench
