#include "cpu/items.h"

#include <algorithm>

#include "base/checked.h"

namespace LINFORMER_NAMESPACE::cpu {

StageSize size_of(const Stage& stage, const Part& part, const Destination& to, const Sharing& sharing,
                  const Context& context) {
  const int64_t block = context.program.extents.block_rows, threads = sharing.threads;
  const auto blocks = [&](int64_t rows) -> StageSize {
    if (threads > 1 && rows <= std::min(shared_rows, block) && sharing.of_products) return {1, 1, rows};
    int64_t tasks = ceil_div(rows, block);
    if (threads > 1) tasks = round_up(tasks, threads);
    const int64_t step = rows_per_item(rows, tasks, block);
    return {ceil_div(rows, step), 1, step};
  };
  // If there are few sequences, each of them is divided into more steps, so that every thread gets an item.
  const auto steps = [&](int64_t extent, int64_t multiple = 1) -> StageSize {
    const int64_t parts = std::max(ceil_div(threads, sharing.joined * part.sequences), ceil_div(extent, block));
    // A step is a multiple of `multiple` that fits the block. If the block is smaller, one step holds `multiple` rows.
    const int64_t step = std::min(round_up(rows_per_item(extent, parts, block), multiple),
                                  std::max(block / multiple, int64_t{1}) * multiple);
    return {part.sequences * ceil_div(extent, step), ceil_div(extent, step), step};
  };
  if (stage.domain == Domain::row_blocks) return blocks(part.rows);
  if (stage.domain == Domain::first_rows || stage.domain == Domain::scored) {
    return blocks(stage.extent == 0 ? part.rows : part.sequences / stage.extent);
  }
  if (stage.domain == Domain::positions) return blocks(static_cast<int64_t>(to.positions.size()));
  if (stage.domain == Domain::sequences) return {part.sequences, 1, 1};

  const bool states = stage.key_rows.reads_states(context.batch.has_states);
  const int64_t shortest = states ? part.shortest_states : part.shortest;
  const int64_t longest = states ? part.longest_states : part.longest;
  if (shortest >= stage.lengths.below || longest < stage.lengths.from) return {};
  switch (stage.domain) {
    case Domain::source_columns: {
      const int64_t chunks = ceil_div(stage.extent, column_chunk);
      return {part.sequences * chunks, chunks, column_chunk};
    }
    case Domain::source_rows: {
      const int64_t rows = std::min(longest, stage.lengths.below - 1);
      return stage.whole_keys ? steps(rows, full_panel_rows) : steps(rows);
    }
    case Domain::compressed_rows:
      return stage.whole_keys ? steps(stage.extent, full_panel_rows) : steps(stage.extent);
    default:
      return {part.sequences * stage.extent, stage.extent, 1};
  }
}

bool set_item(const Stage& stage, const StageSize& size, const Part& part, const Destination& to, int64_t index,
              const Context& context, Item* item) {
  const int64_t within = index % size.steps;
  item->sequence = part.first + index / size.steps;
  switch (stage.domain) {
    case Domain::row_blocks: {
      const int64_t first = index * size.step;
      item->row = part.row + first;
      item->rows = std::min(size.step, part.rows - first);
      break;
    }
    case Domain::first_rows:
    case Domain::scored: {
      const int64_t base = stage.extent == 0 ? part.row : part.first / stage.extent;
      const int64_t all = stage.extent == 0 ? part.rows : part.sequences / stage.extent;
      const int64_t first = index * size.step;
      item->row = base + first;
      item->rows = std::min(size.step, all - first);
      break;
    }
    case Domain::positions: {
      item->row = index * size.step;
      item->rows = std::min(size.step, static_cast<int64_t>(to.positions.size()) - item->row);
      break;
    }
    case Domain::sequences:
      item->row = context.batch.output_starts[item->sequence];
      item->rows = context.batch.output_starts[item->sequence + 1] - item->row;
      break;
    default: {
      const Source source = context.key_source_of(stage.key_rows);
      if (!stage.lengths.has(source.length(item->sequence))) return false;
      const int64_t first = within * size.step, length = source.length(item->sequence);
      const int64_t all = stage.domain == Domain::source_rows       ? length
                          : stage.domain == Domain::compressed_rows ? stage.compressed_row_count(length)
                                                                    : stage.extent;
      if (first >= all) return false;
      if (stage.domain == Domain::source_columns) {
        item->column = first;
        item->columns = std::min(size.step, all - first);
      } else if (stage.domain == Domain::key_heads) {
        item->group = first;
      } else {
        item->row = first;
        item->rows = std::min(size.step, all - first);
      }
    }
  }
  return true;
}

}  // namespace LINFORMER_NAMESPACE::cpu
