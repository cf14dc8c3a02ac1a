// Defines a unique symbol that check_unique.cmake must find.
inline int shown_to_the_check = 1;
int next_shown_to_the_check() { return ++shown_to_the_check; }
