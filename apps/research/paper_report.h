// Writes the results of `linformer bench --paper` as text, CSV and JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/limits.h"
#include "bench/machine.h"
#include "bench/paper.h"

namespace linformer::research {

struct PaperReport {
  bench::Machine machine;
  bench::Limits limits;
  bench::PaperOptions options;
  std::vector<bench::PaperRun> runs;
};

std::string paper_text(const PaperReport& report);
std::string paper_csv(const PaperReport& report);
nlohmann::ordered_json paper_json(const PaperReport& report);

}  // namespace linformer::research
