#include "linformer/top_scores.h"

#include <new>

#include "pipeline/best_heap.h"

namespace LINFORMER_NAMESPACE {

struct TopScores::State {
  size_t most = 0;
  bool sorted = false;  // `kept` is sorted with the best first. Otherwise it is a heap.
  Array<Scored> kept;
};

TopScores::TopScores(std::unique_ptr<State> state) : state_(std::move(state)) {}
TopScores::TopScores(TopScores&&) noexcept = default;
TopScores& TopScores::operator=(TopScores&&) noexcept = default;
TopScores::~TopScores() = default;

Result<TopScores> TopScores::create(int64_t most) {
  if (most < 0) {
    return Status::error(Code::invalid_argument,
                         "the number of scores to keep is %lld: give a positive number, or 0 for all",
                         static_cast<long long>(most));
  }
  std::unique_ptr<State> state(new (std::nothrow) State);
  if (!state) return Status::error(Code::out_of_memory, "no memory for the best scores");
  state->most = most == 0 ? SIZE_MAX : static_cast<size_t>(most);
  return TopScores(std::move(state));
}

Status TopScores::add(int64_t index, float score, int64_t* dropped) {
  State& s = *state_;
  if (s.sorted) std::make_heap(s.kept.begin(), s.kept.end(), is_better);
  s.sorted = false;
  *dropped = index;
  const Scored given = {index, score};
  if (!belongs_in_heap(s.kept, s.most, given)) return {};
  if (!try_push_best(&s.kept, s.most, given, dropped))
    return Status::error(Code::out_of_memory, "no memory for a score");
  return {};
}

std::span<const Scored> TopScores::best() {
  State& s = *state_;
  if (!s.sorted) std::sort_heap(s.kept.begin(), s.kept.end(), is_better);
  s.sorted = true;
  return s.kept.span();
}

void TopScores::clear() {
  state_->kept.clear();
  state_->sorted = false;
}

}  // namespace LINFORMER_NAMESPACE
