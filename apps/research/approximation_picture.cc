#include "research/approximation_picture.h"

#include <algorithm>
#include <cmath>

#include "command_line/display.h"
#include "research/drawing.h"

namespace linformer::research {
namespace {

using cli::excerpt;
using cli::grouped;
using cli::significant;

// One line of a plot. `ks` has the k at each place along the axis, or nothing if no k is known.
struct Series {
  std::string name, colour;
  bool dashed = false;
  std::vector<std::optional<int64_t>> ks;
};

class ApproximationPicture {
 public:
  explicit ApproximationPicture(const ApproximationReport& report) : report_(report), error_(report.options.error) {
    of_lengths_ = series([&](KindOfK kind, std::vector<EnoughK>* out) {
      for (const Approximation& at : report_.lengths) out->push_back(enough_k(at, kind, error_));
    });
    of_layers_ = series([&](KindOfK kind, std::vector<EnoughK>* out) {
      for (const auto& layer : report_.longest().layers) out->push_back(enough_k(layer, kind, error_));
    });
    for (const Approximation& at : report_.lengths) {
      of_lengths_[0].ks.emplace_back(theorem_1_k(at.rows, error_));
      of_lengths_[1].ks.emplace_back(theorem_2_k(at.rows, at.width, error_));
    }
    for (size_t i = 0; i < 2; ++i) of_layers_[i].ks.assign(report_.longest().layers.size(), of_lengths_[i].ks.back());
    set_range();
  }

  std::string name() const {
    return "k for a relative error of " + significant(error_, 6) + ": " + excerpt(report_.model, 60);
  }

  std::string svg() {
    drawing_.text(left_plot, 40, "start", "title ink", name());
    drawing_.text(left_plot, 63, "start", "plain soft",
                  "Low-rank approximations of P V, attention of " + excerpt(describe_texts(report_), 100));
    against_length();
    by_layer();
    legend();
    drawing_.text(left_plot, height - 18, "start", "small soft",
                  "Projected: R random, k x n, mean over " + std::to_string(report_.options.draws) +
                      (report_.options.draws == 1 ? " draw" : " draws") +
                      "; expected: over all R. Singular: P keeps its k largest singular values. Solid: enough for half "
                      "of the heads; dotted: for all.");
    return drawing_.svg(picture_width, height, name());
  }

 private:
  template <class Enough>
  static std::vector<Series> series(const Enough& enough) {
    const auto colour = [](size_t i) { return line_colour(i, 5).hex(); };
    std::vector<Series> all = {{"theorem 1", colour(0), false, {}}, {"theorem 2", colour(1), false, {}}};
    const auto add = [&](KindOfK kind, const std::string& words, size_t index, bool with_all) {
      std::vector<EnoughK> found;
      enough(kind, &found);
      Series half{words + ", half", colour(index), false, {}}, whole{words + ", all", colour(index), true, {}};
      for (const EnoughK& k : found) {
        half.ks.push_back(k.half);
        whole.ks.push_back(k.all);
      }
      all.push_back(std::move(half));
      if (with_all) all.push_back(std::move(whole));
    };
    add(KindOfK::expected, "expected", 2, false);
    add(KindOfK::projected, "projected", 3, true);
    add(KindOfK::singular, "singular", 4, true);
    return all;
  }

  // Both plots have the same range of k, so that they can be compared.
  void set_range() {
    double low = static_cast<double>(report_.lengths.front().rows), high = static_cast<double>(report_.longest().rows);
    for (const auto* plot : {&of_lengths_, &of_layers_}) {
      for (const Series& line : *plot) {
        for (const std::optional<int64_t>& k : line.ks) {
          if (!k) continue;
          low = std::min(low, static_cast<double>(*k));
          high = std::max(high, static_cast<double>(*k));
        }
      }
    }
    low_ = low / 1.3;
    high_ = high * 1.3;
  }

  double y(double k) const { return plots_top + plot_height * (1 - std::log(k / low_) / std::log(high_ / low_)); }

  void frame(double left, const std::string& heading, const std::string& below) {
    drawing_.text(left, plots_top - 18, "start", "heading ink", heading);
    const bool few = std::log10(high_ / low_) <= few_decades;
    for (double power = std::pow(10, std::floor(std::log10(low_))); power <= high_; power *= 10) {
      for (const double step : {1.0, 2.0, 5.0}) {
        const double k = power * step;
        if (k < low_ || k > high_ || (!few && step > 1)) continue;
        drawing_.line(left, y(k), left + plot_width, y(k), "grid");
        // k is a whole number, so grid lines below 1 have no label.
        if (k >= 1) {
          const std::string text = k < 1e6 ? grouped(static_cast<uint64_t>(std::llround(k))) : significant(k, 1);
          drawing_.text(left - 8, y(k) + 4, "end", "small soft", text);
        }
      }
    }
    drawing_.text(left + plot_width / 2, plots_top + plot_height + 40, "middle", "plain soft", below);
    drawing_.box(left, plots_top, plot_width, plot_height, "frame", "none");
  }

  void place(double x, int64_t value) {
    drawing_.line(x, plots_top + plot_height, x, plots_top + plot_height + 5, "frame");
    drawing_.text(x, plots_top + plot_height + 19, "middle", "small soft", std::to_string(value));
  }

  void mark(double x, double k, const Series& line, bool filled, const std::string& hint) {
    drawing_.box(x - mark_size / 2, y(k) - mark_size / 2, mark_size, mark_size, filled ? "" : "frame",
                 filled ? line.colour : "none", hint);
  }

  // Draws lines through the known k. Where k is not known, because it is more than n, an empty square is drawn at
  // `limits[i]`, the n of place i.
  void draw(const std::vector<Series>& plot, const std::vector<double>& xs, const std::vector<int64_t>& limits,
            const std::string& what, const std::vector<int64_t>& places) {
    for (const Series& line : plot) {
      std::vector<Drawing::Point> run;
      const auto end_run = [&] {
        if (run.size() > 1) drawing_.curve(run, line.colour, line.name, line.dashed);
        run.clear();
      };
      for (size_t i = 0; i < xs.size(); ++i) {
        const std::string hint = line.name + ", " + what + " " + std::to_string(places[i]) + ": ";
        if (line.ks[i]) {
          const double k = static_cast<double>(*line.ks[i]);
          run.push_back({xs[i], y(k)});
          mark(xs[i], k, line, true, hint + "k = " + std::to_string(*line.ks[i]));
        } else {
          end_run();
          mark(xs[i], static_cast<double>(limits[i]), line, false, hint + "more than " + std::to_string(limits[i]));
        }
      }
      end_run();
    }
  }

  void against_length() {
    frame(left_plot, "k against the length of a text", "tokens of a text, n");
    const double first = static_cast<double>(report_.lengths.front().rows);
    const double last = static_cast<double>(report_.longest().rows);
    const bool one = report_.lengths.size() == 1;
    const double low = one ? first / 2 : first / 1.15, high = one ? last * 2 : last * 1.15;
    const auto x_of = [&](double n) { return left_plot + plot_width * std::log(n / low) / std::log(high / low); };
    std::vector<double> xs;
    std::vector<int64_t> lengths;
    const size_t step = report_.lengths.size() / most_places + 1;
    for (size_t i = 0; i < report_.lengths.size(); ++i) {
      lengths.push_back(report_.lengths[i].rows);
      xs.push_back(x_of(static_cast<double>(lengths.back())));
      if (i % step == 0) place(xs.back(), lengths.back());
    }
    // The line k = n, clipped to the plot.
    const double begin = std::max(low, low_), end = std::min(high, high_);
    drawing_.line(x_of(begin), y(begin), x_of(end), y(end), "equal");
    draw(of_lengths_, xs, lengths, "n", lengths);
  }

  void by_layer() {
    const int64_t n = report_.longest().rows;
    frame(right_plot, "k by layer, n = " + std::to_string(n), "layer");
    const size_t layers = of_layers_[0].ks.size(), step = layers / most_places + 1;
    std::vector<double> xs;
    std::vector<int64_t> names;
    for (size_t l = 0; l < layers; ++l) {
      names.push_back(static_cast<int64_t>(l));
      xs.push_back(right_plot + plot_width * (static_cast<double>(l) + 0.5) / static_cast<double>(layers));
      if (l % step == 0) place(xs.back(), names.back());
    }
    const double own = y(static_cast<double>(n));
    drawing_.line(right_plot, own, right_plot + plot_width, own, "equal");
    draw(of_layers_, xs, std::vector<int64_t>(layers, n), "layer", names);
  }

  void legend() {
    double top = plots_top + 14;
    for (const Series& line : of_lengths_) {
      drawing_.curve({{legend_left, top - 4}, {legend_left + 26, top - 4}}, line.colour, line.name, line.dashed);
      drawing_.text(legend_left + 34, top, "start", "small ink", line.name);
      top += 21;
    }
    drawing_.line(legend_left, top - 4, legend_left + 26, top - 4, "equal");
    drawing_.text(legend_left + 34, top, "start", "small ink", "k = n");
    top += 21;
    drawing_.box(legend_left + 13 - mark_size / 2, top - 4 - mark_size / 2, mark_size, mark_size, "frame", "none");
    drawing_.text(legend_left + 34, top, "start", "small ink", "more than n");
  }

  static constexpr double picture_width = 1180, plot_width = 400, plot_height = 360, plots_top = 122;
  static constexpr double left_plot = 84, right_plot = 560, legend_left = 990, height = 590;
  static constexpr double mark_size = 7;
  static constexpr size_t most_places = 24;  // The most labels that don't overlap below a plot.
  static constexpr double few_decades = 4;   // An axis of at most so many decades also has grid lines at 2 and 5.

  const ApproximationReport& report_;
  const double error_;
  std::vector<Series> of_lengths_, of_layers_;
  Drawing drawing_;
  double low_ = 1, high_ = 1;
};

}  // namespace

std::string approximation_svg(const ApproximationReport& report) { return ApproximationPicture(report).svg(); }

std::string approximation_html(const ApproximationReport& report) {
  ApproximationPicture picture(report);
  const std::string svg = picture.svg();
  return picture_page(picture.name(), svg);
}

}  // namespace linformer::research
