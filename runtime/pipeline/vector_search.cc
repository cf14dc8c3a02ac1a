#include "linformer/vector_search.h"

#include <atomic>
#include <cmath>
#include <new>

#include "base/cpu.h"
#include "base/threads.h"
#include "kernels/kernels.h"
#include "pipeline/best_heap.h"

namespace LINFORMER_NAMESPACE {
namespace {

constexpr size_t most_queries = 64;  // The most queries in one pass over the rows.
// The most scores that all threads together keep in one pass. Only a pass with a single query may keep more.
constexpr size_t most_found = size_t{1} << 22;
constexpr int64_t block_floats = int64_t{1} << 16;     // The size of a block of rows, which must fit into the cache.
constexpr int64_t least_block = 16, most_block = 512;  // In rows.
constexpr size_t alignment = 16;                       // The alignment of a panel, in floats.
constexpr double least_norm = 1e-12;

Status no_memory_to_search() { return Status::error(Code::out_of_memory, "no memory to search vectors"); }

// Returns the length of a vector, or least_norm if that is larger. The sums of 16 lanes can be computed in a vector
// register, and their order is the same for every row and machine.
double length_of(const float* values, int64_t count) {
  constexpr int64_t lanes = 16;
  float squares[lanes] = {};
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    for (int64_t lane = 0; lane < lanes; ++lane) squares[lane] += values[i + lane] * values[i + lane];
  }
  double sum = 0;
  for (const float square : squares) sum += static_cast<double>(square);
  for (; i < count; ++i) sum += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  return std::max(std::sqrt(sum), least_norm);
}

float* aligned(Array<float>* memory) {
  constexpr uintptr_t bytes = alignment * sizeof(float);
  const uintptr_t misplaced = reinterpret_cast<uintptr_t>(memory->data()) % bytes;
  return memory->data() + (misplaced == 0 ? 0 : (bytes - misplaced) / sizeof(float));
}

}  // namespace

struct VectorSearch::State {
  // The data of one thread.
  struct Worker {
    Array<float> products;             // The products of a block of rows with the queries.
    Array<double> lengths;             // The lengths of these rows.
    Array<Scored> best[most_queries];  // A heap of the best rows for each query (best_heap.h).
  };

  Status set(std::span<const float> given);
  Status prepare(std::span<const float> queries, size_t count);
  bool search_block(Worker* worker, int64_t first, size_t count) const;
  Status search_group(std::span<const float> queries, size_t count, std::span<Scored> to, std::span<size_t> counts,
                      const std::atomic<bool>* cancel);

  std::span<const float> rows;
  int64_t width = 1, row_count = 0, block = 1;
  size_t top_k = 1, group = 1;
  bool by_length = true;  // Products are divided by the lengths of both vectors (cosine similarity).
  const Kernels* kernels = nullptr;
  ThreadTeam team;
  TaskCounter tasks;
  Array<Worker> workers;
  Array<float> panels;  // The queries of a pass, packed for gemm_f32.
  double lengths[most_queries] = {};
};

VectorSearch::VectorSearch(std::unique_ptr<State> state) : state_(std::move(state)) {}
VectorSearch::VectorSearch(VectorSearch&&) noexcept = default;
VectorSearch& VectorSearch::operator=(VectorSearch&&) noexcept = default;
VectorSearch::~VectorSearch() = default;

Result<VectorSearch> VectorSearch::create(std::span<const float> rows, int64_t width,
                                          const VectorSearchOptions& options) {
  if (width < 1 || width > max_dimension) {
    return Status::error(Code::invalid_argument, "the width of the vectors is %lld: give 1 to %u",
                         static_cast<long long>(width), max_dimension);
  }
  if (options.top_k < 1) {
    return Status::error(Code::invalid_argument, "top_k is %lld: ask for at least one row",
                         static_cast<long long>(options.top_k));
  }
  if (options.similarity > Similarity::dot) {
    return Status::error(Code::invalid_argument, "there is no similarity number %d",
                         static_cast<int>(options.similarity));
  }
  if (options.cpu.threads < 1 || options.cpu.threads > CpuOptions::max_threads) {
    return Status::error(Code::invalid_argument, "threads is %d: give 1 to %d", options.cpu.threads,
                         CpuOptions::max_threads);
  }
  std::unique_ptr<State> state(new (std::nothrow) State);
  if (!state) return no_memory_to_search();
  State& s = *state;
  Isa isa = options.cpu.isa;
  if (isa == Isa::automatic) {
    const Result<Isa> asked = isa_from_environment();
    if (!asked.ok()) return asked.status();
    isa = *asked;
  }
  s.kernels = kernels_for(isa);
  if (s.kernels == nullptr) {
    return Status::error(Code::unsupported, "this machine or build has no %s kernels: choose another instruction set",
                         name_of(isa));
  }
  s.width = width;
  s.by_length = options.similarity == Similarity::cosine;
  s.top_k = static_cast<size_t>(options.top_k);
  s.block = std::clamp(block_floats / width, least_block, most_block);
  const size_t threads = static_cast<size_t>(options.cpu.threads);
  s.group = std::clamp<size_t>(most_found / threads / s.top_k, 1, most_queries);
  LINFORMER_TRY(s.set(rows));
  if (!s.workers.try_resize(threads) || !s.tasks.try_reserve(options.cpu.threads)) return no_memory_to_search();
  LINFORMER_TRY(s.team.start(options.cpu.threads, {options.cpu.parallel, options.cpu.parallel_context}));
  return VectorSearch(std::move(state));
}

Status VectorSearch::set_rows(std::span<const float> rows) { return state_->set(rows); }

Status VectorSearch::State::set(std::span<const float> given) {
  if (given.size() % static_cast<size_t>(width) != 0) {
    return Status::error(Code::invalid_argument, "%zu floats are not a whole number of rows of %lld floats",
                         given.size(), static_cast<long long>(width));
  }
  rows = given;
  row_count = static_cast<int64_t>(given.size()) / width;
  return {};
}

Status VectorSearch::search(std::span<const float> queries, std::span<Scored> best, std::span<size_t> counts,
                            const RunControl& control) {
  State& s = *state_;
  const size_t width = static_cast<size_t>(s.width), count = queries.size() / width;
  if (queries.size() % width != 0) {
    return Status::error(Code::invalid_argument,
                         "%zu floats are not a whole number of queries of %zu floats, the width of the rows",
                         queries.size(), width);
  }
  if (best.size() / s.top_k < count || counts.size() < count) {
    return Status::error(Code::too_long,
                         "the output has room for %zu rows and %zu counts, but %zu queries need %zu rows each",
                         best.size(), counts.size(), count, s.top_k);
  }
  s.team.set_one_thread(control.one_thread);
  for (size_t first = 0; first < count; first += s.group) {
    const size_t now = std::min(s.group, count - first);
    LINFORMER_TRY(s.search_group(queries.subspan(first * width, now * width), now, best.subspan(first * s.top_k),
                                 counts.subspan(first), control.cancel));
    if (control.progress != nullptr) {
      control.progress(control.context, static_cast<double>(first + now) / static_cast<double>(count));
    }
  }
  return {};
}

// Packs the queries of a pass, and empties the heaps.
Status VectorSearch::State::prepare(std::span<const float> queries, size_t count) {
  const size_t elements = static_cast<size_t>(panel_elements(ElementType::f32, width, static_cast<int64_t>(count)));
  if (!panels.try_resize_for_overwrite(elements + alignment)) return no_memory_to_search();
  const ConstMatrix source = {queries.data(), static_cast<int64_t>(count), width, width};
  kernels->pack_panel(source, true, aligned(&panels));
  for (size_t i = 0; i < count; ++i) lengths[i] = length_of(queries.data() + i * static_cast<size_t>(width), width);
  const size_t products = static_cast<size_t>(block * round_up(static_cast<int64_t>(count), panel_width));
  const size_t found = std::min(top_k, static_cast<size_t>(row_count));
  for (Worker& worker : workers) {
    if (!worker.products.try_resize_for_overwrite(products + alignment) ||
        !worker.lengths.try_resize_for_overwrite(static_cast<size_t>(block))) {
      return no_memory_to_search();
    }
    for (size_t i = 0; i < count; ++i) {
      worker.best[i].clear();
      if (!worker.best[i].try_reserve(found)) return no_memory_to_search();
    }
  }
  return {};
}

Status VectorSearch::State::search_group(std::span<const float> queries, size_t count, std::span<Scored> to,
                                         std::span<size_t> counts, const std::atomic<bool>* cancel) {
  LINFORMER_TRY(prepare(queries, count));
  std::atomic<bool> cancelled{false}, kept{true};
  tasks.reset((row_count + block - 1) / block, team.size());
  team.run([&](int thread) {
    Worker& worker = workers[static_cast<size_t>(thread)];
    for (int64_t task; tasks.next(thread, &task);) {
      if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) {
        return cancelled.store(true, std::memory_order_relaxed);
      }
      if (!search_block(&worker, task * block, count)) return kept.store(false, std::memory_order_relaxed);
    }
  });
  if (cancelled) return Status::error(Code::cancelled, "the call was cancelled");
  if (!kept) return no_memory_to_search();
  for (size_t i = 0; i < count; ++i) {
    Array<Scored>& best = workers[0].best[i];
    for (size_t t = 1; t < workers.size(); ++t) {
      for (const Scored& scored : workers[t].best[i]) {
        int64_t dropped = -1;
        if (belongs_in_heap(best, top_k, scored) && !try_push_best(&best, top_k, scored, &dropped))
          return no_memory_to_search();
      }
    }
    std::sort_heap(best.begin(), best.end(), is_better);
    std::copy(best.begin(), best.end(), to.begin() + static_cast<ptrdiff_t>(i * top_k));
    counts[i] = best.size();
  }
  return {};
}

// Compares the block of rows that starts at row `first` with each query. Returns false if there is no memory.
bool VectorSearch::State::search_block(Worker* worker, int64_t first, size_t count) const {
  const int64_t now = std::min(block, row_count - first), columns = static_cast<int64_t>(count);
  const int64_t stride = round_up(columns, panel_width);
  float* products = aligned(&worker->products);
  const float* begin = rows.data() + first * width;
  // The lengths are computed first, even if they are not needed. This reads the rows from memory one after another,
  // which is fast. The products read several rows at the same time and then find them in the cache.
  for (int64_t row = 0; row < now; ++row) {
    worker->lengths[static_cast<size_t>(row)] = length_of(begin + row * width, width);
  }
  GemmArgs args;
  args.a = ConstMatrix{begin, now, width, width};
  args.b.data = aligned(const_cast<Array<float>*>(&panels));
  args.b.k = width;
  args.b.n = columns;
  args.c = MutableMatrix{products, now, columns, stride};
  kernels->gemm_f32(args);
  for (int64_t row = 0; row < now; ++row) {
    const double length = worker->lengths[static_cast<size_t>(row)];
    for (size_t i = 0; i < count; ++i) {
      const float product = products[row * stride + static_cast<int64_t>(i)];
      const float score =
          by_length ? static_cast<float>(static_cast<double>(product) / (length * lengths[i])) : product;
      const Scored scored = {first + row, score};
      int64_t dropped = -1;
      if (!std::isfinite(score) || !belongs_in_heap(worker->best[i], top_k, scored)) continue;
      if (!try_push_best(&worker->best[i], top_k, scored, &dropped)) return false;
    }
  }
  return true;
}

int64_t VectorSearch::rows() const { return state_->row_count; }
int64_t VectorSearch::width() const { return state_->width; }
int64_t VectorSearch::top_k() const { return static_cast<int64_t>(state_->top_k); }

}  // namespace LINFORMER_NAMESPACE
