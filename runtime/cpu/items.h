// Divides a stage's work on a part of a batch into items. Each thread takes one item after another.
#pragma once

#include "cpu/context.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE::cpu {

// Up to this many rows, all threads share each product by its columns. A product of so few rows takes the time of
// reading its weight, and without sharing each thread would read the whole weight. In base size with 24 rows, a call in
// f32 went from 15 ms to 10, and in int8 from 4.1 to 3.8 (two threads, Zen 5).
inline constexpr int64_t shared_rows = 24;

// The number and the size of a stage's items.
struct StageSize {
  int64_t items = 0;    // The number of items.
  int64_t steps = 1;    // The number of items of each sequence, or 1 if an item isn't a part of a single sequence.
  int64_t step = 0;     // The most rows, columns, groups of heads or sequences that an item has.
  bool shares = false;  // Whether all threads together work on each item.
};

// How threads can share the work on a stage.
struct Sharing {
  int64_t threads = 1;
  int64_t joined = 1;        // The number of stages that run at the same time.
  bool of_products = false;  // Whether the provider lets threads share a product.
};

StageSize size_of(const Stage& stage, const Part& part, const Destination& to, const Sharing& sharing,
                  const Context& context);

// Sets *item to the item with this index. Returns false if the stage has no work for it, because its sequence is too
// short or too long.
bool set_item(const Stage& stage, const StageSize& size, const Part& part, const Destination& to, int64_t index,
              const Context& context, Item* item);

}  // namespace LINFORMER_NAMESPACE::cpu
