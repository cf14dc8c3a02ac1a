// Repeats the efficiency experiments of the Linformer paper (Wang et al. 2020): its last two tables, the plot at the
// top right of figure 2, and the growth of the time and the memory of a layer (table 1).
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

// Return the time and the memory of the Transformer divided by those of the Linformer, as printed in the paper for a
// V100, or 0 if the paper has no number. The arguments are indices into paper_lengths and paper_ks.
double paper_time_saved(size_t length_index, size_t k_index);
double paper_memory_saved(size_t length_index, size_t k_index);

// Values of PaperOptions::least_tokens that keep all cores of a CPU busy, or a GPU.
inline constexpr int64_t cpu_tokens = 4096, gpu_tokens = 65536;

struct PaperOptions {
  Case running;                       // Its threads, backend, isa, compute and device are used for all cells.
  uint64_t free_bytes = 0;            // The available memory. If 0, the system is asked.
  double minutes = 30;                // The limit of the time of all cells together.
  uint32_t layers = 2;                // The number of layers of a model. A layer has the sizes of a RoBERTa-base layer.
  int64_t least_tokens = cpu_tokens;  // A call has as many texts as fit into this number of tokens, at least one.
  uint32_t longest = paper_lengths.back();  // The largest n that is measured.
  std::vector<ElementType> types = {ElementType::f32, ElementType::int8};
};

struct PaperCell {
  uint32_t n = 0, k = 0;  // k is 0 for the Transformer.
  int64_t batch = 1;
  std::optional<Measurement> measurement;
  std::string left_out;  // The reason if there is no measurement.

  double ms_of_text() const { return measurement->median_ms / static_cast<double>(batch); }
  double arena_of_text() const { return static_cast<double>(measurement->arena_bytes) / static_cast<double>(batch); }
};

// The cells of one precision.
struct PaperRun {
  ElementType type;
  std::vector<PaperCell> cells;

  // Returns a cell that was measured, or null.
  const PaperCell* find(uint32_t n, uint32_t k) const;
  // Return the Transformer's time and arena for a text divided by those of the Linformer, or nothing if one of the
  // cells was not measured.
  std::optional<double> time_saved(uint32_t n, uint32_t k) const;
  std::optional<double> memory_saved(uint32_t n, uint32_t k) const;
  // Returns memory_saved() for a Transformer that stores the attention matrix of one layer (heads n^2 floats), like the
  // Transformer of the paper. The measured Transformer doesn't store it, so its size is added to the measured arena.
  std::optional<double> memory_saved_if_scores_stored(uint32_t n, uint32_t k) const;
  // Return the exponent a for which c n^a, with any c, fits best to the times or the arenas of a text at the measured
  // n. Return nothing if fewer than two n were measured.
  std::optional<double> time_growth_exponent(uint32_t k) const;
  std::optional<double> memory_growth_exponent(uint32_t k) const;
};

// Measures the cells in the order of n. At each n the Transformer of a precision comes before the Linformers that are
// compared with it. A cell that needs more than the free memory or the remaining minutes is not measured, and its
// `left_out` has the reason. announce(text) is called before each cell with a description of it.
std::vector<PaperRun> run_paper(const PaperOptions& options, const Limits& limits,
                                const std::function<void(const std::string&)>& announce);

}  // namespace linformer::bench
