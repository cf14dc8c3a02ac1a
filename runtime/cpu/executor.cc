#include "cpu/executor.h"

#include <algorithm>
#include <new>

#include "base/checked.h"
#include "cpu/ops/keys.h"

namespace LINFORMER_NAMESPACE {
namespace {

// Returns an address that identifies the calling thread.
const void* this_thread() {
  static thread_local char here;
  return &here;
}

}  // namespace

Result<std::unique_ptr<CpuExecutor>> CpuExecutor::create(Program program, BackendKind backend, const Kernels& kernels,
                                                         std::span<const std::byte* const> weights, bool profile,
                                                         const ParallelFor& callers) {
  std::unique_ptr<CpuExecutor> made(new (std::nothrow) CpuExecutor(std::move(program), kernels, weights));
  const size_t threads = static_cast<size_t>(made ? made->program_.extents.threads : 0);
  if (made) made->errors_.reset(new (std::nothrow) Status[threads]);
  if (!made || !made->errors_ || !made->tasks_.try_reserve(static_cast<int>(threads)))
    return Status::error(Code::out_of_memory, "no memory for a session");
  Result<std::unique_ptr<GemmProvider>> provider = make_gemm_provider(backend, kernels, static_cast<int>(threads));
  if (!provider.ok()) return provider.status();
  made->callers_ = callers;
  made->provider_ = std::move(provider.value());
  Program& p = made->program_;
  if (!made->next_products_.try_resize(p.ops.size())) {
    return Status::error(Code::out_of_memory, "no memory for %zu ops", p.ops.size());
  }
  for (int32_t i = static_cast<int32_t>(p.ops.size()) - 1, next = -1; i >= 0; --i) {
    const Op& op = p.ops[static_cast<size_t>(i)];
    made->next_products_[static_cast<size_t>(i)] = next;
    const auto* gemm = op.get<ops::Gemm>();
    if (gemm != nullptr && gemm->multiplies_weights()) next = i;
  }
  LINFORMER_TRY(made->context_.prepare_weights());
  made->context_.provider = made->provider_.get();
  LINFORMER_TRY(declare_gemms(p, made->provider_.get(), &made->context_.gemms));
  p.arena[Term::scratch] = Count::bytes(made->provider_->scratch_bytes()).rounded_up(64);
  p.arena.use(BufferId::scratch);
  if (!p.arena.lay_out(&made->layout_)) {
    return Status::error(Code::too_long, "the session's memory can't be addressed: lower max_tokens or max_batch");
  }
  if (profile &&
      (!made->profile_.try_resize(p.ops.size()) || !made->thread_profiles_.try_resize(p.ops.size() * threads))) {
    return Status::error(Code::out_of_memory, "no memory for the times of %zu ops", p.ops.size());
  }
  return made;
}

CpuExecutor::~CpuExecutor() = default;

Status CpuExecutor::start(std::byte* arena) {
  arena_ = context_.arena = arena;
  fill_position_tables();
  LINFORMER_TRY(cpu::fill_projection_table(context_));
  return team_.start(static_cast<int>(program_.extents.threads), callers_);
}

cpu::Part CpuExecutor::part_of_sequences(int64_t first, int64_t end, int thread) const {
  Part part;
  part.first = first;
  part.sequences = end - first;
  part.row = context_.batch.row_starts[first];
  part.rows = context_.batch.row_starts[end] - part.row;
  part.shortest = part.shortest_states = INT64_MAX;
  for (int64_t s = first; s < end; ++s) {
    const int64_t n = context_.batch.length(s),
                  states = context_.batch.has_states
                               ? context_.batch.state_starts[s + 1] - context_.batch.state_starts[s]
                               : 0;
    part.shortest = std::min(part.shortest, n);
    part.longest = std::max(part.longest, n);
    part.shortest_states = std::min(part.shortest_states, states);
    part.longest_states = std::max(part.longest_states, states);
  }
  part.thread = thread;
  return part;
}

Status CpuExecutor::run_item(const Stage& stage, const cpu::StageSize& size, const Part& part, const Destination& to,
                             int64_t index, int thread) {
  if (request_.is_cancelled()) return Status::error(Code::cancelled, "the call was cancelled");
  Item item{stage, part, to, thread};
  if (!cpu::set_item(stage, size, part, to, index, context_, &item)) return {};
  return size.shares ? run_ops_on_all_threads(item) : run_ops(item);
}

// Runs the stages of a section. If part.thread is the index of a thread, that thread runs all items in order. If it is
// -1, all threads of the team share the items of a stage and of the following stages with the flag `joins`, and wait
// for each other before the next stage begins.
Status CpuExecutor::run_section(const Section& section, const Part& part, const Destination& to) {
  if (!profile_.empty()) count_costs(section, part, to);
  for (int32_t begin = section.begin; begin < section.end;) {
    int32_t end = begin + 1;
    while (end < section.end && program_.stages[static_cast<size_t>(end)].joins) ++end;
    cpu::StageSize sizes[most_joined];
    const cpu::Sharing sharing{part.thread < 0 ? team_.size() : 1, end - begin, threads_share_products()};
    int64_t items = 0;
    for (int32_t i = begin; i < end; ++i) {
      sizes[i - begin] = cpu::size_of(program_.stages[static_cast<size_t>(i)], part, to, sharing, context_);
      items += sizes[i - begin].items;
    }
    const auto run_index = [&](int64_t index, int thread) {
      int32_t i = begin;
      while (index >= sizes[i - begin].items) index -= sizes[i++ - begin].items;
      return run_item(program_.stages[static_cast<size_t>(i)], sizes[i - begin], part, to, index, thread);
    };
    // If there are fewer items than threads, the threads share each product by its columns, so that only one thread
    // reads each part of a weight.
    const bool rows = has_row_blocks(program_.stages[static_cast<size_t>(begin)].domain);
    sizes[0].shares = part.thread < 0 && end == begin + 1 && rows && items < team_.size() && threads_share_products();
    if (part.thread >= 0 || sizes[0].shares) {
      for (int64_t index = 0; index < items; ++index) LINFORMER_TRY(run_index(index, std::max(part.thread, 0)));
    } else if (items > 0) {
      LINFORMER_TRY(parallel(items, run_index));
    }
    begin = end;
  }
  return {};
}

Status CpuExecutor::run_encoder(const Part& part, const Request& request) {
  return run_encoder_sections(
      request,
      [&](const Section& section, Destination to) {
        // If the caller wants probabilities but no logits, the logits are computed in the place of the probabilities,
        // which then overwrite them.
        if (to.values == nullptr) to.values = to.probabilities;
        return run_section(section, part, to);
      },
      [&] { report_progress(part); });
}

// Counts the rows that have passed a layer and, if this is the caller's thread, reports their share of all rows times
// all layers. The work after the last layer counts as one more layer. run() reports 1 at the end of the call.
void CpuExecutor::report_progress(const Part& part) {
  if (request_.progress == nullptr) return;
  const int64_t done = rows_done_.fetch_add(part.rows, std::memory_order_relaxed) + part.rows;
  if (this_thread() != caller_) return;
  const double all = static_cast<double>(context_.batch.rows) * static_cast<double>(program_.layers.size() + 1);
  request_.progress(request_.progress_context, static_cast<double>(done) / all);
}

// Returns whether each thread takes its own sequences through the whole program, without a barrier. This is faster if
// there are enough sequences that no thread waits long for the last one. It is also faster for a session with one
// thread, because rows stay in the cache from stage to stage. With oneDNN and OpenBLAS it is slower if the weights
// don't fit into the shared cache: their products gain from weights that another thread, at the same stage, has just
// read.
bool CpuExecutor::splits_by_sequences(const Part& whole) const {
  const int64_t threads = team_.size();
  if (whole.sequences < 2 * threads || provider_->kind() != BackendKind::native) return false;
  // The data of one sequence must not overlap the data that another thread, at another layer, keeps for the next
  // sequence. They could overlap if layers mix full and compressed attention, or if some layers take their keys from
  // encoder states, because panels of full attention then lie at other places.
  if (program_.mixes_attention || context_.batch.has_states) return false;
  const int64_t largest = std::max(full_part_rows, least_part_rows + whole.longest);
  return whole.rows >= 2 * (threads - 1) * largest && whole.rows >= 2 * threads * least_part_rows;
}

// Runs the whole program by parts. Each thread takes the next sequences, in multiples of `sequence_multiple`, until
// none are left. A part has as many sequences as fill a few blocks of rows, so that its last block is nearly full and
// its rows stay in the core's own cache.
Status CpuExecutor::run_parts(const Request& request, int64_t sequence_multiple) {
  const auto rows = [&](int64_t first, int64_t end) {
    return context_.batch.row_starts[end] - context_.batch.row_starts[first];
  };
  std::atomic<int64_t> next{0};
  return on_threads([&](int thread) -> Status {
    for (;;) {
      int64_t first = next.load(std::memory_order_relaxed), end = 0;
      do {
        if (first >= context_.batch.sequences) return {};
        end = first;
        while (end < context_.batch.sequences) {
          const int64_t longer = std::min(end + sequence_multiple, context_.batch.sequences);
          if (rows(first, end) >= least_part_rows && rows(first, longer) > full_part_rows) break;
          end = longer;
        }
      } while (!next.compare_exchange_weak(first, end, std::memory_order_relaxed));
      LINFORMER_TRY(run_encoder(part_of_sequences(first, end, thread), request));
    }
  });
}

// Returns whether all heads that the request names have a row of scores for the same thing: a token, a sequence or a
// pair of sequences. If they differ, threads that run different parts would use the same rows of the heads' buffers.
// Stores in *pairs whether a row of scores is for a pair.
bool CpuExecutor::heads_score_same_kind(const Request& request, bool* pairs) const {
  const HeadSections* first = nullptr;
  for (const Output& output : request.outputs) {
    if (output.kind != OutputKind::logits && output.kind != OutputKind::probabilities) continue;
    const HeadSections& sections = program_.heads[static_cast<size_t>(output.head)];
    if (first == nullptr) first = &sections;
    if (sections.pairs != first->pairs || sections.each_row != first->each_row) return false;
  }
  *pairs = first != nullptr && first->pairs;
  return true;
}

Status CpuExecutor::run(const Batch& batch, const Request& request) {
  context_.batch = batch;
  request_ = request;
  team_.set_one_thread(request.one_thread);
  caller_ = this_thread();
  rows_done_.store(0, std::memory_order_relaxed);
  const Part whole = part_of_sequences(0, batch.sequences, all_threads);
  bool pairs = false;
  if (heads_score_same_kind(request, &pairs) && splits_by_sequences(whole)) {
    LINFORMER_TRY(run_parts(request, pairs ? 2 : 1));
  } else {
    LINFORMER_TRY(run_encoder(whole, request));
  }
  LINFORMER_TRY(run_masked_lm_sections(
      request, [&](const Section& section, const Destination& to) { return run_section(section, whole, to); }));
  collect_profile();
  if (request.progress != nullptr) request.progress(request.progress_context, 1);
  return {};
}

}  // namespace LINFORMER_NAMESPACE
