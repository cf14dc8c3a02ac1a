// A stage's items: how many it has for a part of a batch, and what each of them is.
#pragma once

#include "cpu/context.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE::cpu {

// Up to this many rows, all threads share each product by its columns, because it is bound by reading the weight, which
// each thread would otherwise read whole. 24 rows in base size: f32 from 15 ms to 10, int8 from 4.1 to 3.8 (two
// threads, Zen 5).
inline constexpr int64_t shared_rows = 24;

struct StageSize {
  int64_t items = 0, steps = 1, step = 0;  // `steps` of a sequence, each of `step` rows, columns or heads
  bool shares = false;                     // all threads work on each item
};

// Who works on a stage's items.
struct Sharing {
  int64_t threads = 1;
  int64_t joined = 1;        // stages that run at once
  bool of_products = false;  // threads can share a product
};

StageSize size_of(const Stage& stage, const Part& part, const Destination& to, const Sharing& sharing,
                  const Context& context);

// Makes *item the one with this index. False: the stage has nothing for its sequence.
bool set_item(const Stage& stage, const StageSize& size, const Part& part, const Destination& to, int64_t index,
              const Context& context, Item* item);

}  // namespace LINFORMER_NAMESPACE::cpu
