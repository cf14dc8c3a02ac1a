#include "research/spectrum_picture.h"

#include <algorithm>
#include <cmath>

#include "command_line/display.h"
#include "research/drawing.h"

namespace linformer::research {
namespace {

using cli::excerpt;
using cli::fixed;

constexpr double width = 1180, margin = 64;
constexpr double curves_left = margin, curves_width = 470;
constexpr double map_left = 624, map_width = 440;
constexpr double plots_top = 122, curves_height = 390;
constexpr double scale_left = map_left + map_width + 18, scale_width = 14;
constexpr double table_row = 21, table_layer = 60, table_mean = 62;
constexpr size_t legend_most = 24, legend_rows = 8;
constexpr size_t curve_points = 512;  // More points of a curve can't be told apart.

struct Range {
  double low, high;
  double part(double value) const { return high > low ? (value - low) / (high - low) : 0.5; }
};

class SpectrumPicture {
 public:
  explicit SpectrumPicture(const SpectrumReport& report) : report_(report), spectrum_(report.spectrum) {
    const double rows = static_cast<double>(spectrum_.layers.size());
    cell_height_ = std::max(curves_height / rows, 15.0);
    map_height_ = cell_height_ * rows;
    cell_width_ = map_width / static_cast<double>(spectrum_.most_heads());
    table_top_ = plots_top + std::max(curves_height, map_height_) + 122;
    height_ = table_top_ + table_row * rows + 66;
  }

  std::string svg() {
    title();
    curves();
    heatmap();
    table();
    return drawing_.svg(width, height_, name());
  }

  std::string name() const { return "Singular values of self-attention: " + excerpt(report_.model, 60); }

 private:
  void title() {
    drawing_.text(margin, 40, "start", "title ink", name());
    drawing_.text(margin, 63, "start", "plain soft",
                  "P = softmax(Q K\xE1\xB5\x80 \xC2\xB7 scale) of each layer and head; means over " +
                      excerpt(describe_texts(report_), 110));
  }

  double curve_x(double index) const {
    return curves_left + curves_width * index / static_cast<double>(spectrum_.rows);
  }
  static double curve_y(double share) { return plots_top + curves_height * (1 - share); }

  void curves() {
    drawing_.text(curves_left, plots_top - 18, "start", "heading ink", "Share of the sum, mean over a layer's heads");
    for (int i = 0; i <= 5; ++i) {
      const double share = i / 5.0;
      drawing_.line(curves_left, curve_y(share), curves_left + curves_width, curve_y(share), "grid");
      drawing_.text(curves_left - 8, curve_y(share) + 4, "end", "small soft", fixed(share, 1));
    }
    const int64_t n = spectrum_.rows, quarter = std::max<int64_t>(n / 4, 1);
    for (int64_t index = 0; index <= n; index += quarter) {
      const double x = curve_x(static_cast<double>(index));
      drawing_.line(x, curve_y(0), x, curve_y(0) + 5, "frame");
      if (index > 0) drawing_.line(x, curve_y(0), x, curve_y(1), "grid");
      drawing_.text(x, curve_y(0) + 19, "middle", "small soft", std::to_string(index));
    }
    drawing_.text(curves_left + curves_width / 2, curve_y(0) + 40, "middle", "plain soft",
                  "index of the singular value, largest first");
    drawing_.line(curve_x(0), curve_y(0), curve_x(static_cast<double>(n)), curve_y(1), "equal");
    const double rank_x = curve_x(static_cast<double>(report_.rank));
    drawing_.line(rank_x, curve_y(0), rank_x, curve_y(1), "mark");
    drawing_.text(rank_x + 6, curve_y(0) - 7, "start", "small soft", "index " + std::to_string(report_.rank));
    drawing_.line(curve_x(0), curve_y(report_.keep), curve_x(static_cast<double>(n)), curve_y(report_.keep), "mark");
    for (size_t l = 0; l < spectrum_.layers.size(); ++l) {
      drawing_.curve(curve_of(l), line_colour(l, spectrum_.layers.size()).hex(), "layer " + std::to_string(l));
    }
    drawing_.box(curves_left, plots_top, curves_width, curves_height, "frame", "none");
    legend();
  }

  std::vector<Drawing::Point> curve_of(size_t layer) const {
    const std::vector<double> share = spectrum_.mean_share(layer);
    std::vector<Drawing::Point> points = {{curve_x(0), curve_y(0)}};
    const size_t step = std::max<size_t>((share.size() + curve_points - 1) / curve_points, 1);
    for (size_t i = 0; i < share.size();
         i += i + step < share.size() ? step : std::max<size_t>(share.size() - 1 - i, 1)) {
      points.push_back({curve_x(static_cast<double>(i + 1)), curve_y(share[i])});
    }
    return points;
  }

  // Draws the legend in the lower right corner. No curve gets there, because the shares lie above the diagonal.
  void legend() {
    const size_t layers = spectrum_.layers.size(), step = (layers + legend_most - 1) / legend_most;
    const size_t entries = (layers + step - 1) / step, columns = (entries + legend_rows - 1) / legend_rows;
    const size_t rows = (entries + columns - 1) / columns;
    const double row = 17, column = 80;
    const double left = curves_left + curves_width - 14 - column * static_cast<double>(columns);
    const double top = curve_y(0) - 22 - row * static_cast<double>(rows);
    drawing_.box(left - 8, top - 8, column * static_cast<double>(columns) + 12, row * static_cast<double>(rows) + 14,
                 "paper", "");
    for (size_t i = 0; i < entries; ++i) {
      const size_t layer = i * step;
      const double x = left + column * static_cast<double>(i / rows), y = top + row * static_cast<double>(i % rows);
      drawing_.box(x, y + 5, 18, 3.5, "", line_colour(layer, layers).hex());
      drawing_.text(x + 24, y + 11, "start", "small ink", "layer " + std::to_string(layer));
    }
  }

  void heatmap() {
    drawing_.text(map_left, plots_top - 18, "start", "heading ink",
                  "Share of the first " + std::to_string(report_.rank) + " of " + std::to_string(spectrum_.rows));
    Range range{1, 0};
    for (const auto& layer : spectrum_.layers) {
      for (const HeadSpectrum& head : layer) {
        range.low = std::min(range.low, head.share_at(report_.rank));
        range.high = std::max(range.high, head.share_at(report_.rank));
      }
    }
    for (size_t l = 0; l < spectrum_.layers.size(); ++l) {
      const double y = plots_top + cell_height_ * static_cast<double>(l);
      drawing_.text(map_left - 8, y + cell_height_ / 2 + 4, "end", "small soft", std::to_string(l));
      for (size_t h = 0; h < spectrum_.layers[l].size(); ++h) cell(l, h, y, range);
    }
    const size_t heads = spectrum_.most_heads(), step = cell_width_ < 18 ? heads / 16 + 1 : 1;
    for (size_t h = 0; h < heads; h += step) {
      drawing_.text(map_left + cell_width_ * (static_cast<double>(h) + 0.5), plots_top + map_height_ + 17, "middle",
                    "small soft", std::to_string(h));
    }
    drawing_.text(map_left + map_width / 2, plots_top + map_height_ + 38, "middle", "plain soft", "head");
    drawing_.text(map_left - 8, plots_top - 18, "end", "plain soft", "layer");
    scale(range);
  }

  void cell(size_t layer, size_t head, double y, const Range& range) {
    const double share = spectrum_.layers[layer][head].share_at(report_.rank);
    const double x = map_left + cell_width_ * static_cast<double>(head);
    const Colour colour = heat_colour(range.part(share));
    drawing_.box(x, y, cell_width_ - 1, cell_height_ - 1, "", colour.hex(),
                 "layer " + std::to_string(layer) + ", head " + std::to_string(head) + ": " + fixed(share, 4));
    if (cell_width_ < 26) return;
    const char* ink = colour.is_light() ? "#1f2328" : "#ffffff";
    drawing_.text(x + (cell_width_ - 1) / 2, y + cell_height_ / 2 + 4, "middle", "number", fixed(share, 2), ink);
  }

  void scale(const Range& range) {
    constexpr int steps = 120;
    const double step = map_height_ / steps;
    for (int i = 0; i < steps; ++i) {
      const double part = (i + 0.5) / steps;
      // Each box is a little higher than its step, so that no gap between the boxes can be seen.
      drawing_.box(scale_left, plots_top + map_height_ - step * (i + 1), scale_width, step + (i > 0 ? 0.6 : 0), "",
                   heat_colour(part).hex());
    }
    for (int i = 0; i <= 4; ++i) {
      const double part = i / 4.0, value = range.low + part * (range.high - range.low);
      drawing_.text(scale_left + scale_width + 6, plots_top + map_height_ * (1 - part) + 4, "start", "small soft",
                    fixed(value, 2));
    }
  }

  void table() {
    const size_t heads = spectrum_.most_heads();
    const double left = margin + table_layer,
                 column = (width - margin - left - 2 * table_mean) / static_cast<double>(heads);
    const bool numbers = column >= 20;
    drawing_.text(margin, table_top_ - 42, "start", "heading ink",
                  "k that keeps " + percent_of_sum(report_) + ", by layer and head");
    drawing_.text(
        width - margin, table_top_ - 42, "end", "plain soft",
        "over all heads " + fixed(mean_rank(report_), 0) + " of " + std::to_string(spectrum_.rows) + " on average");
    drawing_.text(margin, table_top_ - 10, "start", "small soft", "layer");
    const size_t step = column < 18 ? heads / 32 + 1 : 1;
    for (size_t h = 0; h < heads; h += step) {
      drawing_.text(left + column * (static_cast<double>(h) + 1) - 8, table_top_ - 10, "end", "small soft",
                    std::to_string(h));
    }
    const double mean_right = width - margin - table_mean, most_right = width - margin;
    drawing_.text(mean_right - 8, table_top_ - 10, "end", "small soft", "mean");
    drawing_.text(most_right - 8, table_top_ - 10, "end", "small soft", "max");
    drawing_.line(margin, table_top_ - 3, width - margin, table_top_ - 3, "grid");
    for (size_t l = 0; l < spectrum_.layers.size(); ++l) {
      const double y = table_top_ + table_row * static_cast<double>(l), base = y + table_row - 6;
      drawing_.text(margin, base, "start", "small soft", std::to_string(l));
      double sum = 0, most = 0;
      for (size_t h = 0; h < spectrum_.layers[l].size(); ++h) {
        const int64_t k = spectrum_.layers[l][h].rank_for_share(report_.keep);
        const double value = static_cast<double>(k), x = left + column * static_cast<double>(h);
        sum += value;
        most = std::max(most, value);
        drawing_.box(x + 3, y + 2, (column - 6) * value / static_cast<double>(spectrum_.rows), table_row - 4, "bar", "",
                     "layer " + std::to_string(l) + ", head " + std::to_string(h) + ": k = " + std::to_string(k));
        if (numbers) drawing_.text(x + column - 8, base, "end", "small ink", std::to_string(k));
      }
      const double mean = sum / static_cast<double>(spectrum_.layers[l].size());
      drawing_.text(mean_right - 8, base, "end", "small ink", fixed(mean, 0));
      drawing_.text(most_right - 8, base, "end", "small ink", fixed(most, 0));
    }
    const double foot = table_top_ + table_row * static_cast<double>(spectrum_.layers.size());
    drawing_.line(margin, foot + 3, width - margin, foot + 3, "grid");
    drawing_.text(margin, foot + 28, "start", "small soft",
                  "Share: the sum of the largest singular values of P over the sum of all. Dotted: if all were equal. "
                  "Dashed: the index and the share of the tables. A bar's length is k of " +
                      std::to_string(spectrum_.rows) + ".");
  }

  const SpectrumReport& report_;
  const Spectrum& spectrum_;
  Drawing drawing_;
  double cell_width_ = 0, cell_height_ = 0, map_height_ = 0, table_top_ = 0, height_ = 0;
};

}  // namespace

std::string spectrum_svg(const SpectrumReport& report) { return SpectrumPicture(report).svg(); }

std::string spectrum_html(const SpectrumReport& report) {
  SpectrumPicture picture(report);
  const std::string svg = picture.svg();
  return picture_page(picture.name(), svg);
}

}  // namespace linformer::research
