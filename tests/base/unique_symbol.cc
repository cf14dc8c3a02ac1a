// Defines a GNU unique symbol (type u in the output of nm), which check_unique.cmake must report.
inline int shown_to_the_check = 1;
int next_shown_to_the_check() { return ++shown_to_the_check; }
