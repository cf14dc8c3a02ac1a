// The options of `linformer bench`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/paper.h"
#include "commands/flags/run_flags.h"

namespace linformer::cli {

struct BenchFlags {
  std::vector<std::string> models;
  std::string random, save, isa = "automatic", device = "cpu", measured_case, csv, svg;
  PrecisionFlags precision;
  std::vector<std::string> dtypes, backends = {"native"};
  std::vector<int64_t> tokens, batches = {1};
  std::vector<uint32_t> ks = {128};
  uint32_t window = 0;
  int threads = 0;
  double seconds = 2, minutes = 30;
  int64_t longest = bench::paper_lengths.back(), call_tokens = 0;
  bool json = false, profile = false, paper = false;

  void add_to(CLI::App* command);
  // Throws UsageError if options don't go together or a call would be too large, and DataError if this build can't do
  // what they require.
  void check() const;
};

}  // namespace linformer::cli
