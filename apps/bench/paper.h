// The efficiency experiments of the Linformer paper (Wang et al. 2020): its last two tables, the plot at the top right
// of figure 2, and how time and memory of a layer grow (table 1).
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/limits.h"
#include "bench/measure.h"

namespace linformer::bench {

inline constexpr std::array<uint32_t, 8> paper_lengths = {512, 1024, 2048, 4096, 8192, 16384, 32768, 65536};
inline constexpr std::array<uint32_t, 5> paper_ks = {128, 256, 512, 1024, 2048};

// How many times less the Linformer takes than the Transformer, as printed in the paper for a V100; 0: not given.
// `length` and `k` are places in paper_lengths and paper_ks.
double paper_time_saved(size_t length, size_t k);
double paper_memory_saved(size_t length, size_t k);

// Values of PaperOptions::least_tokens with which a call keeps all cores of a CPU busy, or a GPU.
inline constexpr int64_t cpu_tokens = 4096, gpu_tokens = 65536;

struct PaperOptions {
  Case running;                             // its threads, backend, isa, compute and device
  uint64_t free_bytes = 0;                  // of memory; 0: what the system says
  double minutes = 30;                      // for all cells together
  uint32_t layers = 2;                      // of RoBERTa-base's width; what is printed is of one layer
  int64_t least_tokens = cpu_tokens;        // of a call, which gets as many texts of n tokens
  uint32_t longest = paper_lengths.back();  // n
  std::vector<ElementType> types = {ElementType::f32, ElementType::int8};
};

struct PaperCell {
  uint32_t n = 0, k = 0;  // k 0: the Transformer
  int64_t batch = 1;
  std::optional<Measurement> measurement;
  std::string left_out;  // why there is none

  double ms_of_text() const { return measurement->median_ms / static_cast<double>(batch); }
  double arena_of_text() const { return static_cast<double>(measurement->arena_bytes) / static_cast<double>(batch); }
};

// All cells of one precision.
struct PaperRun {
  ElementType type;
  std::vector<PaperCell> cells;

  // nullptr where it wasn't measured.
  const PaperCell* find(uint32_t n, uint32_t k) const;
  // Transformer over Linformer at (n, k), of time and of the arena's bytes for a text.
  std::optional<double> time_saved(uint32_t n, uint32_t k) const;
  std::optional<double> memory_saved(uint32_t n, uint32_t k) const;
  // The same where the Transformer holds one layer's attention, heads n^2 numbers of 4 bytes, as the paper's does; ours
  // never does, so this is computed.
  std::optional<double> memory_saved_of_held_attention(uint32_t n, uint32_t k) const;
  // The exponent a in n^a that fits the times (the arenas) of a text best, over all n that were measured.
  std::optional<double> time_growth(uint32_t k) const;
  std::optional<double> memory_growth(uint32_t k) const;
};

// Measures the cells in the order of n. At each n the Transformer of a precision comes before the Linformers that are
// compared with it. A cell that needs more than the free memory or the minutes left is not measured, and its result
// says why. announce(text) is called before each cell with a description of it.
std::vector<PaperRun> run_paper(const PaperOptions& options, const Limits& limits,
                                const std::function<void(const std::string&)>& announce);

}  // namespace linformer::bench
