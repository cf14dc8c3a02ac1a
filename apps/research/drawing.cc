#include "research/drawing.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "command_line/display.h"

namespace linformer::research {
namespace {

using cli::fixed;

// The colours are light unless the reader asks for dark ones. A program that doesn't know prefers-color-scheme shows
// the light ones.
constexpr char style[] = R"(<style>
.paper{fill:#ffffff}
.ink{fill:#1f2328}
.soft{fill:#59636e}
.frame{stroke:#8c959f;fill:none}
.grid{stroke:#d1d9e0;stroke-width:.8}
.mark{stroke:#59636e;stroke-width:1.1;stroke-dasharray:5 4}
.equal{stroke:#8c959f;stroke-width:1.2;stroke-dasharray:1.5 3.5}
.bar{fill:#0969da;fill-opacity:.16}
.curve{fill:none;stroke-width:1.9;stroke-linejoin:round}
.dashed{stroke-dasharray:2 4;stroke-width:1.3}
.title{font-size:21px;font-weight:600}
.heading{font-size:14.5px;font-weight:600}
.plain{font-size:12.5px}
.small{font-size:11.5px}
.number{font-size:11px}
@media (prefers-color-scheme:dark){
.paper{fill:#0d1117}
.ink{fill:#e6edf3}
.soft{fill:#9198a1}
.frame{stroke:#656c76}
.grid{stroke:#2a313c}
.mark{stroke:#b0b8c1}
.equal{stroke:#656c76}
.bar{fill:#4493f8;fill-opacity:.28}
}
</style>)";

std::string number(double value) {
  std::string text = fixed(value, 2);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string attribute(const char* name, std::string_view value) {
  std::string out(1, ' ');
  return out.append(name).append("=\"").append(escape_xml(value)).append("\"");
}

std::string attribute(const char* name, double value) { return attribute(name, number(value)); }

int channel(double value) { return static_cast<int>(std::lround(255 * std::clamp(value, 0.0, 1.0))); }

}  // namespace

std::string escape_xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string picture_page(std::string_view title, const std::string& svg) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n<title>" + escape_xml(title) +
         "</title>\n<style>body{margin:0;background:#fff}svg{display:block;margin:auto;max-width:100%;height:auto}"
         "@media (prefers-color-scheme:dark){body{background:#0d1117}}</style>\n</head>\n<body>\n" +
         svg + "</body>\n</html>\n";
}

std::string Colour::hex() const {
  char text[8];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", red & 255, green & 255, blue & 255);
  return text;
}

bool Colour::is_light() const { return 0.299 * red + 0.587 * green + 0.114 * blue > 140; }

Colour heat_colour(double value) {
  constexpr Colour stops[] = {{44, 20, 92},   {58, 66, 135},  {46, 106, 142}, {34, 142, 141},
                              {50, 176, 120}, {126, 206, 84}, {246, 228, 64}};
  constexpr double last = std::size(stops) - 1;
  const double place = std::clamp(value, 0.0, 1.0) * last;
  const size_t below = static_cast<size_t>(std::min(std::floor(place), last - 1));
  const double part = place - static_cast<double>(below);
  const auto mix = [&](int from, int to) { return static_cast<int>(std::lround(from + part * (to - from))); };
  const Colour &a = stops[below], &b = stops[below + 1];
  return {mix(a.red, b.red), mix(a.green, b.green), mix(a.blue, b.blue)};
}

Colour line_colour(size_t index, size_t count) {
  // All hues have the same saturation. The lightness is a little lower around green.
  const double part = count > 1 ? static_cast<double>(index) / static_cast<double>(count - 1) : 0.2;
  const double hue = 265 - 262 * part, lightness = 0.5 - 0.08 * std::exp(-std::pow((hue - 90) / 60, 2));
  const double saturation = 0.68, chroma = (1 - std::abs(2 * lightness - 1)) * saturation;
  const auto at = [&](double turn) {
    const double k = std::fmod(turn + hue / 30, 12);
    return channel(lightness - chroma / 2 * std::max(-1.0, std::min({k - 3, 9 - k, 1.0})));
  };
  return {at(0), at(8), at(4)};
}

void Drawing::text(double x, double y, std::string_view anchor, std::string_view classes, std::string_view words,
                   std::string_view fill) {
  body_ += "<text" + attribute("x", x) + attribute("y", y) + attribute("text-anchor", anchor) +
           attribute("class", classes) + (fill.empty() ? "" : attribute("fill", fill)) + ">" + escape_xml(words) +
           "</text>\n";
}

void Drawing::line(double x1, double y1, double x2, double y2, std::string_view classes) {
  body_ += "<line" + attribute("x1", x1) + attribute("y1", y1) + attribute("x2", x2) + attribute("y2", y2) +
           attribute("class", classes) + "/>\n";
}

void Drawing::box(double x, double y, double width, double height, std::string_view classes, std::string_view fill,
                  std::string_view hint) {
  body_ += "<rect" + attribute("x", x) + attribute("y", y) + attribute("width", width) + attribute("height", height) +
           (classes.empty() ? "" : attribute("class", classes)) + (fill.empty() ? "" : attribute("fill", fill));
  body_ += hint.empty() ? "/>\n" : "><title>" + escape_xml(hint) + "</title></rect>\n";
}

void Drawing::curve(const std::vector<Point>& points, std::string_view stroke, std::string_view hint, bool dashed) {
  std::string places;
  for (const Point& point : points) places.append(number(point.x)).append(",").append(number(point.y)).append(" ");
  body_ += "<polyline" + attribute("class", dashed ? "curve dashed" : "curve") + attribute("stroke", stroke) +
           attribute("points", places) + "><title>" + escape_xml(hint) + "</title></polyline>\n";
}

std::string Drawing::svg(double width, double height, std::string_view title) const {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\"" +
         attribute("viewBox", "0 0 " + number(width) + " " + number(height)) + attribute("width", width) +
         attribute("height", height) +
         " role=\"img\" font-family=\"system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif\">\n<title>" +
         escape_xml(title) + "</title>\n" + style + "\n<rect width=\"100%\" height=\"100%\" class=\"paper\"/>\n" +
         body_ + "</svg>\n";
}

}  // namespace linformer::research
