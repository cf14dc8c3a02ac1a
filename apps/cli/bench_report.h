// What `linformer bench` prints.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/limits.h"
#include "bench/machine.h"
#include "bench/measure.h"

namespace linformer::cli {

struct BenchRow {
  std::string model;  // the file, or "base, k 128"
  bench::Case what;
  std::optional<bench::Measurement> measurement;
  std::string error;  // where there is none
};

struct BenchReport {
  int threads = 1;
  bench::Machine machine;
  bench::Limits limits;
  std::vector<BenchRow> rows;
};

// The program, the machine and its limits.
std::string machine_text(const bench::Machine& machine, const bench::Limits& limits, int threads);
nlohmann::ordered_json machine_json(const bench::Machine& machine, const bench::Limits& limits, int threads);

std::string bench_text(const BenchReport& report);
nlohmann::ordered_json bench_json(const BenchReport& report);

}  // namespace linformer::cli
