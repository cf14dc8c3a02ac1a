#include "program/stage.h"

namespace LINFORMER_NAMESPACE {

const char* name_of(Domain domain) {
  constexpr const char* names[] = {"row blocks", "source rows", "source columns", "compressed rows", "key heads",
                                   "first rows", "scored rows", "sequences",      "positions"};
  return names[static_cast<int>(domain)];
}

bool has_row_blocks(Domain domain) {
  return domain == Domain::row_blocks || domain == Domain::first_rows || domain == Domain::scored ||
         domain == Domain::positions;
}

double rows_for_sequence(const Stage& stage, int64_t rows, int64_t source_rows, int64_t positions) {
  switch (stage.domain) {
    case Domain::row_blocks:
    case Domain::sequences:
      break;
    case Domain::source_rows:
      return static_cast<double>(source_rows);
    case Domain::compressed_rows:
      return static_cast<double>(stage.compressed_row_count(source_rows));
    case Domain::source_columns:
    case Domain::key_heads:
      return static_cast<double>(stage.extent);
    case Domain::first_rows:
    case Domain::scored:
      if (stage.extent != 0) return 1 / static_cast<double>(stage.extent);
      break;
    case Domain::positions:
      return static_cast<double>(positions);
  }
  return static_cast<double>(rows);
}

}  // namespace LINFORMER_NAMESPACE
