#include "research/paper_picture.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "command_line/display.h"
#include "research/drawing.h"

namespace linformer::research {
namespace {

using cli::excerpt;
using cli::significant;

using bench::paper_ks;
using bench::paper_lengths;
using bench::PaperCell;
using bench::PaperRun;

constexpr double picture_width = 1180, plot_width = 430, plot_height = 300;
constexpr double left_plot = 84, right_plot = 624, legend = 1070;
constexpr double first_row = 128, row_height = 420;

// A coordinate system whose two axes are logarithmic.
struct Axes {
  double left, top, low, high;

  double x(double n) const {
    return left + plot_width * std::log2(n / paper_lengths.front()) /
                      std::log2(static_cast<double>(paper_lengths.back()) / paper_lengths.front());
  }
  double y(double value) const {
    return top + plot_height * (1 - std::log(std::clamp(value, low, high) / low) / std::log(high / low));
  }
};

class PaperPicture {
 public:
  explicit PaperPicture(const PaperReport& report) : report_(report) {}

  std::string svg() {
    const std::string title = "Linformer beside Transformer: " + excerpt(report_.machine.processor, 60);
    drawing_.text(left_plot, 40, "start", "title ink", title);
    drawing_.text(left_plot, 63, "start", "plain soft",
                  "RoBERTa-base's width, " + std::to_string(report_.options.layers) + " layers, " +
                      std::to_string(report_.options.running.threads) +
                      (report_.options.running.threads == 1 ? " thread" : " threads") +
                      "; lines: measured here, dotted: Wang et al. 2020 on a V100");
    for (size_t i = 0; i < report_.runs.size(); ++i) {
      const double top = first_row + row_height * static_cast<double>(i);
      times(report_.runs[i], top);
      saved(report_.runs[i], top);
      names(top);
    }
    return drawing_.svg(picture_width, first_row + row_height * static_cast<double>(report_.runs.size()), title);
  }

 private:
  static std::string colour(size_t k_index) { return line_colour(k_index + 1, paper_ks.size() + 1).hex(); }
  static std::string transformer_colour() { return line_colour(0, paper_ks.size() + 1).hex(); }

  void frame(const Axes& axes, const std::string& heading, const std::string& unit) {
    drawing_.text(axes.left, axes.top - 16, "start", "heading ink", heading);
    for (double value = std::pow(10, std::floor(std::log10(axes.low))); value <= axes.high * 1.001; value *= 10) {
      for (const double step : {1.0, 2.0, 5.0}) {
        const double at = value * step;
        if (at < axes.low * 0.999 || at > axes.high * 1.001) continue;
        drawing_.line(axes.left, axes.y(at), axes.left + plot_width, axes.y(at), "grid");
        drawing_.text(axes.left - 8, axes.y(at) + 4, "end", "small soft", significant(at, 3) + unit);
      }
    }
    for (const uint32_t n : paper_lengths) {
      drawing_.line(axes.x(n), axes.top + plot_height, axes.x(n), axes.top + plot_height + 5, "frame");
      drawing_.text(axes.x(n), axes.top + plot_height + 19, "middle", "small soft", std::to_string(n));
    }
    drawing_.text(axes.left + plot_width / 2, axes.top + plot_height + 40, "middle", "plain soft",
                  "tokens of a text, n");
    drawing_.box(axes.left, axes.top, plot_width, plot_height, "frame", "none");
  }

  // Draws a line through `value(n)` for each n of the paper that has a value.
  void curve(const Axes& axes, const std::function<std::optional<double>(uint32_t)>& value, const std::string& stroke,
             const std::string& name, bool dashed = false) {
    std::vector<Drawing::Point> points;
    for (const uint32_t n : paper_lengths) {
      if (const std::optional<double> at = value(n)) points.push_back({axes.x(n), axes.y(*at)});
    }
    if (!points.empty()) drawing_.curve(points, stroke, name, dashed);
  }

  void times(const PaperRun& run, double top) {
    const auto seconds = [&](uint32_t n, uint32_t k) -> std::optional<double> {
      const PaperCell* cell = run.find(n, k);
      if (cell == nullptr) return {};
      return cell->ms_of_text() / 1e3 * paper_lengths.back() / n;
    };
    double low = 1e9, high = 0;
    for (const PaperCell& cell : run.cells) {
      if (!cell.measurement) continue;
      low = std::min(low, *seconds(cell.n, cell.k));
      high = std::max(high, *seconds(cell.n, cell.k));
    }
    if (high == 0) return;
    const Axes axes{left_plot, top, low / 1.3, high * 1.3};
    frame(axes, std::string(linformer::name_of(run.type)) + ": time for 65,536 tokens", " s");
    curve(
        axes, [&](uint32_t n) { return seconds(n, 0); }, transformer_colour(), "Transformer");
    for (size_t j = 0; j < paper_ks.size(); ++j) {
      curve(
          axes, [&](uint32_t n) { return seconds(n, paper_ks[j]); }, colour(j), "k " + std::to_string(paper_ks[j]));
    }
  }

  void saved(const PaperRun& run, double top) {
    const Axes axes{right_plot, top, 0.8, 60};
    frame(axes, std::string(linformer::name_of(run.type)) + ": time saved, Transformer over Linformer", "x");
    for (size_t j = 0; j < paper_ks.size(); ++j) {
      const std::string name = "k " + std::to_string(paper_ks[j]);
      curve(
          axes, [&](uint32_t n) { return run.time_saved(n, paper_ks[j]); }, colour(j), name);
      const auto of_paper = [&](uint32_t n) -> std::optional<double> {
        const size_t i =
            static_cast<size_t>(std::find(paper_lengths.begin(), paper_lengths.end(), n) - paper_lengths.begin());
        const double value = bench::paper_time_saved(i, j);
        return value > 0 ? std::optional(value) : std::nullopt;
      };
      curve(axes, of_paper, colour(j), name + ", paper", true);
    }
  }

  void names(double top) {
    const auto entry = [&](size_t row, const std::string& fill, const std::string& name) {
      const double y = top + 14 + 20 * static_cast<double>(row);
      drawing_.box(legend, y - 5, 18, 3.5, "", fill);
      drawing_.text(legend + 24, y, "start", "small ink", name);
    };
    entry(0, transformer_colour(), "Transformer");
    for (size_t j = 0; j < paper_ks.size(); ++j) entry(j + 1, colour(j), "k " + std::to_string(paper_ks[j]));
  }

  const PaperReport& report_;
  Drawing drawing_;
};

}  // namespace

std::string paper_svg(const PaperReport& report) { return PaperPicture(report).svg(); }

}  // namespace linformer::research
