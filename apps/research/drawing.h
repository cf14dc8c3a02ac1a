// Pieces of an SVG picture: escaped text, shapes, scales of colours.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace linformer::research {

struct Colour {
  int red = 0, green = 0, blue = 0;
  std::string hex() const;
  // Whether dark text reads better on it than light text.
  bool is_light() const;
};

// From dark blue (0) over green to yellow (1), in steps that look alike.
Colour heat_colour(double value);
// Colour `index` of `count` in an order that can be seen, readable on white and on black.
Colour line_colour(size_t index, size_t count);

class Drawing {
 public:
  struct Point {
    double x, y;
  };

  // `anchor`: start, middle or end. `fill` "": the class's own colour.
  void text(double x, double y, std::string_view anchor, std::string_view classes, std::string_view words,
            std::string_view fill = "");
  void line(double x1, double y1, double x2, double y2, std::string_view classes);
  // `hint` is shown under the pointer.
  void box(double x, double y, double width, double height, std::string_view classes, std::string_view fill,
           std::string_view hint = "");
  void curve(const std::vector<Point>& points, std::string_view stroke, std::string_view hint, bool dashed = false);

  // The whole picture, with `title` for those who can't see it.
  std::string svg(double width, double height, std::string_view title) const;

 private:
  std::string body_;
};

// `text` as it may stand in XML.
std::string escaped(std::string_view text);
// A page with nothing but the picture `svg`.
std::string picture_page(std::string_view title, const std::string& svg);

}  // namespace linformer::research
