// Builds SVG pictures from texts, shapes and scales of colours.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace linformer::research {

struct Colour {
  int red = 0, green = 0, blue = 0;
  std::string hex() const;
  // Returns whether dark text is easier to read on this colour than light text.
  bool is_light() const;
};

// Returns a colour from dark blue (0) over green to yellow (1). Equal steps of `value` look equally large.
Colour heat_colour(double value);
// Returns colour `index` of `count` colours, from violet over blue and green to red. They can be seen on white and on
// black.
Colour line_colour(size_t index, size_t count);

class Drawing {
 public:
  struct Point {
    double x, y;
  };

  // `anchor` is start, middle or end. `classes` are the CSS classes of the text. If `fill` is empty, the text has the
  // colour of its classes.
  void text(double x, double y, std::string_view anchor, std::string_view classes, std::string_view words,
            std::string_view fill = "");
  void line(double x1, double y1, double x2, double y2, std::string_view classes);
  // `hint` is shown when the pointer is over the shape.
  void box(double x, double y, double width, double height, std::string_view classes, std::string_view fill,
           std::string_view hint = "");
  void curve(const std::vector<Point>& points, std::string_view stroke, std::string_view hint, bool dashed = false);

  // Returns the whole picture. Screen readers read `title`.
  std::string svg(double width, double height, std::string_view title) const;

 private:
  std::string body_;
};

// Returns `text` with the special characters of XML escaped.
std::string escape_xml(std::string_view text);
// Returns an HTML page that contains only the picture `svg`.
std::string picture_page(std::string_view title, const std::string& svg);

}  // namespace linformer::research
