#include "bench/paper.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "bench/child.h"
#include "bench/machine.h"
#include "bench/random_model.h"

namespace linformer::bench {
namespace {

constexpr size_t lengths = paper_lengths.size(), ks = paper_ks.size();
// Table 4 of the paper, with a row for each n and a column for each k.
constexpr double time_saved_in_paper[lengths][ks] = {
    {1.5, 1.3, 0, 0, 0},       {1.7, 1.6, 1.3, 0, 0},     {2.6, 2.4, 2.1, 1.3, 0}, {3.4, 3.2, 2.8, 2.2, 1.3},
    {5.5, 5.0, 4.4, 3.5, 2.1}, {8.6, 7.8, 7.0, 5.6, 3.3}, {13, 12, 11, 8.8, 5.0},  {20, 18, 16, 14, 7.9}};
constexpr double memory_saved_in_paper[lengths][ks] = {
    {1.7, 1.5, 0, 0, 0},    {3.0, 2.9, 1.8, 0, 0}, {6.1, 5.6, 3.6, 2.0, 0}, {14, 13, 8.3, 4.3, 2.3},
    {28, 26, 17, 8.5, 4.5}, {56, 48, 32, 16, 8},   {56, 48, 36, 18, 16},    {60, 52, 40, 20, 18}};

constexpr uint32_t vocabulary = 1000;   // Small, because the embedding is not a part of the experiment.
constexpr double expected_share = 0.5;  // The share of the limit that is assumed to predict the time of a cell.
constexpr double long_call = 5;         // In seconds. A call that takes longer is made only once.

ModelShape shape_of(const PaperCell& cell, const PaperOptions& options) {
  ModelShape shape = bench::shape_of("base");
  shape.layers = options.layers;
  shape.vocabulary = vocabulary;
  shape.n = cell.n;
  shape.k = cell.k;
  return shape;
}

double gigaflop_of(const PaperCell& cell, const PaperOptions& options) {
  const ModelShape shape = shape_of(cell, options);
  const double n = shape.n, d = shape.d_model, k = shape.k, rows = k == 0 ? n : k;
  const double layer = 2 * n * d * d + 2 * n * d * shape.ffn + n * k * d + 2 * rows * d * d + 2 * n * rows * d;
  return 2 * layer * shape.layers * static_cast<double>(cell.batch) / 1e9;
}

// Returns an estimate of the bytes of the model file and of a session.
double bytes_of(const PaperCell& cell, const PaperOptions& options) {
  const ModelShape shape = shape_of(cell, options);
  const double n = shape.n, d = shape.d_model;
  const double weights = shape.layers * (4 * d * d + 2 * d * shape.ffn) + (n + vocabulary) * d + shape.k * n;
  return 4 * (weights + 3 * n * d * static_cast<double>(cell.batch));
}

class Schedule {
 public:
  Schedule(const PaperOptions& options, const Limits& limits) : options_(options), limits_(limits) {}

  double expected_seconds_of_call(const PaperCell& cell, ElementType type) const {
    // The attention of an int8 file runs in 16 bits, which is at most half as fast. In a Transformer with long texts it
    // takes most of the time.
    const bool attention = cell.k == 0 && type == ElementType::int8;
    const double rate = limits_.of(attention ? ElementType::bf16 : type).giga;
    return gigaflop_of(cell, options_) / (expected_share * (rate > 0 ? rate : limits_.f32.giga));
  }

  void measure(PaperCell* cell, ElementType type) const {
    const double seconds = expected_seconds_of_call(*cell, type);
    Case what = options_.running;
    what.warm_ups = seconds > long_call ? 0 : 1;
    what.least_calls = seconds > long_call ? 1 : 3;
    what.seconds = seconds > long_call ? 0 : 0.5;
    what.batch = cell->batch;
    const double left = options_.minutes * 60 - elapsed();
    if (seconds * (what.warm_ups + what.least_calls) > left) {
      cell->left_out = "more than the minutes given";
      return;
    }
    const double available = static_cast<double>(options_.free_bytes > 0 ? options_.free_bytes : available_memory());
    // On a device the session returns an error if the memory is too small.
    if (options_.running.device < 0 && available > 0 && bytes_of(*cell, options_) > 0.9 * available) {
      cell->left_out = "more than the free memory";
      return;
    }
    try {
      const TemporaryModel model(shape_of(*cell, options_), type);
      what.model = model.path();
      cell->measurement = measure_in_child(what);
    } catch (const std::exception& error) {
      cell->left_out = error.what();
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  const PaperOptions& options_;
  const Limits& limits_;
  Clock::time_point begin_ = Clock::now();
};

std::vector<PaperCell> cells_of(const PaperOptions& options) {
  std::vector<PaperCell> cells;
  for (size_t i = 0; i < lengths; ++i) {
    const uint32_t n = paper_lengths[i];
    if (n > options.longest) continue;
    const int64_t batch = std::max<int64_t>(options.least_tokens / n, 1);
    cells.push_back({n, 0, batch, {}, {}});
    for (size_t j = 0; j < ks; ++j) {
      if (paper_time_saved(i, j) > 0) cells.push_back({n, paper_ks[j], batch, {}, {}});
    }
  }
  return cells;
}

// Returns the slope of log(value) over log(n) by least squares.
template <class Value>
std::optional<double> growth(const PaperRun& run, uint32_t k, const Value& value) {
  double count = 0, x_sum = 0, y_sum = 0, xx = 0, xy = 0;
  for (const PaperCell& cell : run.cells) {
    if (cell.k != k || !cell.measurement) continue;
    const double x = std::log(cell.n), y = std::log(value(cell));
    ++count;
    x_sum += x;
    y_sum += y;
    xx += x * x;
    xy += x * y;
  }
  if (count < 2) return {};
  return (count * xy - x_sum * y_sum) / (count * xx - x_sum * x_sum);
}

template <class Value>
std::optional<double> ratio(const PaperRun& run, uint32_t n, uint32_t k, const Value& value) {
  const PaperCell *transformer = run.find(n, 0), *linformer = run.find(n, k);
  if (transformer == nullptr || linformer == nullptr) return {};
  return value(*transformer) / value(*linformer);
}

}  // namespace

double paper_time_saved(size_t length_index, size_t k_index) { return time_saved_in_paper[length_index][k_index]; }
double paper_memory_saved(size_t length_index, size_t k_index) { return memory_saved_in_paper[length_index][k_index]; }

const PaperCell* PaperRun::find(uint32_t n, uint32_t k) const {
  for (const PaperCell& cell : cells) {
    if (cell.n == n && cell.k == k && cell.measurement) return &cell;
  }
  return nullptr;
}

std::optional<double> PaperRun::time_saved(uint32_t n, uint32_t k) const {
  return ratio(*this, n, k, [](const PaperCell& cell) { return cell.ms_of_text(); });
}

std::optional<double> PaperRun::memory_saved(uint32_t n, uint32_t k) const {
  return ratio(*this, n, k, [](const PaperCell& cell) { return cell.arena_of_text(); });
}

std::optional<double> PaperRun::memory_saved_if_scores_stored(uint32_t n, uint32_t k) const {
  const double held = 4.0 * bench::shape_of("base").heads * n * n;
  return ratio(*this, n, k, [&](const PaperCell& cell) { return cell.arena_of_text() + (cell.k == 0 ? held : 0); });
}

std::optional<double> PaperRun::time_growth_exponent(uint32_t k) const {
  return growth(*this, k, [](const PaperCell& cell) { return cell.ms_of_text(); });
}

std::optional<double> PaperRun::memory_growth_exponent(uint32_t k) const {
  return growth(*this, k, [](const PaperCell& cell) { return cell.arena_of_text(); });
}

std::vector<PaperRun> run_paper(const PaperOptions& options, const Limits& limits,
                                const std::function<void(const std::string&)>& announce) {
  struct Job {
    ElementType type;
    PaperCell* cell;
  };
  const Schedule schedule(options, limits);
  std::vector<PaperRun> runs;
  for (const ElementType type : options.types) runs.push_back({type, cells_of(options)});
  std::vector<Job> jobs;
  for (PaperRun& run : runs) {
    for (PaperCell& cell : run.cells) jobs.push_back({run.type, &cell});
  }
  // A ratio needs the time of the Transformer. The sort is stable, so at each n the Transformer of a precision runs
  // before its Linformers. Even with few `minutes`, the ratios of the smallest n are then complete.
  std::stable_sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) { return a.cell->n < b.cell->n; });
  for (size_t i = 0; i < jobs.size(); ++i) {
    const PaperCell& cell = *jobs[i].cell;
    announce("cell " + std::to_string(i + 1) + " of " + std::to_string(jobs.size()) + ": " + name_of(jobs[i].type) +
             ", n " + std::to_string(cell.n) + ", " + (cell.k == 0 ? "Transformer" : "k " + std::to_string(cell.k)));
    schedule.measure(jobs[i].cell, jobs[i].type);
  }
  return runs;
}

}  // namespace linformer::bench
