// Fills the tables of positions, once for each session, for as many positions as the session was planned for.
#include <cmath>

#include "program/executor.h"

namespace LINFORMER_NAMESPACE {

// Fills the table of sinusoidal positions with the sine and cosine of each position times each frequency. The angles
// are computed in double precision.
void Executor::fill_sinusoidal_table() {
  const SinusoidalTable& table = program_.sinusoidal;
  const int64_t half = table.width / 2;
  const float* frequencies = table.frequencies < 0
                                 ? nullptr
                                 : reinterpret_cast<const float*>(weights_[static_cast<size_t>(table.frequencies)]);
  float* row = buffer(BufferId::position_table);
  for (int64_t i = 0; i < table.rows; ++i, row += table.width) {
    const int64_t position = i == table.pad_row ? table.pad_position : table.first + i;
    for (int64_t j = 0; j < half; ++j) {
      const double frequency = frequencies != nullptr
                                   ? static_cast<double>(frequencies[j])
                                   : std::pow(static_cast<double>(table.base),
                                              -2. * static_cast<double>(j) / static_cast<double>(table.width));
      const double angle = static_cast<double>(position) * frequency;
      row[table.interleaved ? 2 * j : j] = static_cast<float>(std::sin(angle));
      row[table.interleaved ? 2 * j + 1 : half + j] = static_cast<float>(std::cos(angle));
    }
  }
}

// Fills a table of rotary positions. Row p has the cosines of p x scale x base^(-2 j / d_head) for each j < d_head / 2,
// then the sines.
void Executor::fill_rotary_table(const Rotary& rotary) {
  const int64_t half = rotary.d_head / 2;
  float* row = buffer(BufferId::rotary_table) + rotary.offset;
  for (int64_t p = 0; p < program_.extents.tokens; ++p, row += rotary.d_head) {
    for (int64_t j = 0; j < half; ++j) {
      const double angle =
          static_cast<double>(p) * static_cast<double>(rotary.scale) *
          std::pow(static_cast<double>(rotary.base), -2. * static_cast<double>(j) / static_cast<double>(rotary.d_head));
      row[j] = static_cast<float>(std::cos(angle));
      row[half + j] = static_cast<float>(std::sin(angle));
    }
  }
}

void Executor::fill_position_tables() {
  fill_sinusoidal_table();
  for (const Rotary& rotary : program_.rotaries) fill_rotary_table(rotary);
}

}  // namespace LINFORMER_NAMESPACE
