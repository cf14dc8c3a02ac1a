// Array and String hold the lists and strings of a model's description. The library uses no other containers.
//
// Functions that need memory have two forms. Those whose names begin with try_ return false if there is no memory, and
// leave the object as it was. The library uses only these, so it never throws and never ends the process. The others
// (copies, initializer lists, push_back, ...) are for programs that make descriptions of their own. They throw
// std::bad_alloc, as the functions of std::vector and std::string do. All other functions need no memory.
#pragma once

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <new>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// A list in one contiguous piece of memory, which it owns. Moving an element must not throw. Not thread-safe while it
// changes.
template <class T>
class Array {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  Array() = default;
  Array(Array&& other) noexcept { swap(other); }
  Array& operator=(Array&& other) noexcept {
    Array taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~Array() {
    clear();
    std::free(data_);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& front() { return data_[0]; }
  const T& front() const { return data_[0]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }
  std::span<const T> span() const { return {data_, size_}; }

  void clear() { truncate(0); }  // Keeps the memory.
  void truncate(size_t size) {   // `size` is at most size().
    std::destroy(data_ + size, data_ + size_);
    size_ = size;
  }
  void pop_back() { truncate(size_ - 1); }

  [[nodiscard]] bool try_reserve(size_t capacity) {
    if (capacity <= capacity_) return true;
    if (capacity > SIZE_MAX / 2 / sizeof(T)) return false;
    const size_t grown = std::max(capacity, capacity_ + capacity_ / 2);
    T* data = reallocate(grown * sizeof(T));
    if (data == nullptr) return false;
    data_ = data;
    capacity_ = grown;
    return true;
  }
  [[nodiscard]] bool try_push(T value) {
    if (size_ == capacity_ && !try_reserve(size_ < least ? least : size_ + 1)) return false;
    ::new (static_cast<void*>(data_ + size_)) T(std::move(value));
    ++size_;
    return true;
  }
  // `values` must not lie in this array.
  [[nodiscard]] bool try_append(const T* values, size_t count) requires std::is_trivially_copyable_v<T> {
    if (count > SIZE_MAX / 4 || !try_reserve(size_ + count)) return false;
    if (count != 0) std::memcpy(data_ + size_, values, count * sizeof(T));
    size_ += count;
    return true;
  }
  // New elements are value-initialised.
  [[nodiscard]] bool try_resize(size_t size) {
    if (!try_reserve(size)) return false;
    if (size < size_) truncate(size);
    for (; size_ < size; ++size_) ::new (static_cast<void*>(data_ + size_)) T();
    return true;
  }
  // New elements are not initialised.
  [[nodiscard]] bool try_resize_for_overwrite(size_t size) requires std::is_trivially_copyable_v<T> {
    if (!try_reserve(size)) return false;
    size_ = size;
    return true;
  }
  [[nodiscard]] bool try_assign(size_t size, const T& value) requires std::is_trivially_copyable_v<T> {
    const T kept = value;
    if (!try_resize_for_overwrite(size)) return false;
    std::fill(begin(), end(), kept);
    return true;
  }

  // The functions from here on throw std::bad_alloc if there is no memory.
  Array(const Array& other) { extend(other); }
  Array(std::initializer_list<T> values) { extend(values); }
  template <std::ranges::sized_range Range>
  requires(!std::same_as<std::remove_cvref_t<Range>, Array> &&
           std::convertible_to<std::ranges::range_reference_t<Range>, T>) Array(Range&& values) {
    extend(values);
  }
  Array& operator=(const Array& other) { return *this = Array(other); }
  Array& operator=(std::initializer_list<T> values) { return *this = Array(values); }
  void reserve(size_t capacity) { throw_bad_alloc_unless(try_reserve(capacity)); }
  void resize(size_t size) { throw_bad_alloc_unless(try_resize(size)); }
  void push_back(T value) { throw_bad_alloc_unless(try_push(std::move(value))); }
  template <class... Values>
  T& emplace_back(Values&&... values) {
    throw_bad_alloc_unless(try_push(T{std::forward<Values>(values)...}));
    return back();
  }

  iterator insert(const_iterator before, T value) {
    const ptrdiff_t at = before - begin();
    push_back(std::move(value));
    std::rotate(begin() + at, end() - 1, end());
    return begin() + at;
  }
  template <class Other>
  requires std::convertible_to<const T&, Other>
  operator std::vector<Other>() const { return {begin(), end()}; }

  template <std::ranges::sized_range Range>
  friend bool operator==(const Array& a, const Range& b) {
    return std::equal(a.begin(), a.end(), std::ranges::begin(b), std::ranges::end(b));
  }

 private:
  static constexpr size_t least = sizeof(T) <= 64 ? 16 : 4;  // In elements: the capacity after the first push.
  static_assert(alignof(T) <= alignof(std::max_align_t));

  void swap(Array& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }
  // Moves the elements to a new block of `bytes` bytes and frees the old one. Returns null, and changes nothing, if
  // there is no memory.
  T* reallocate(size_t bytes) {
    if constexpr (std::is_trivially_copyable_v<T>) {
      return static_cast<T*>(std::realloc(static_cast<void*>(data_), bytes));
    } else {
      T* data = static_cast<T*>(std::malloc(bytes));
      if (data == nullptr) return nullptr;
      std::uninitialized_move(begin(), end(), data);
      std::destroy(begin(), end());
      std::free(data_);
      return data;
    }
  }
  template <class Range>
  void extend(Range&& values) {
    reserve(std::ranges::size(values));
    for (auto&& value : values) push_back(T(value));
  }
  // If `allocated` is false, throws std::bad_alloc by asking operator new for more memory than can exist. A new-handler
  // that the program has installed is therefore called first, as for any other failed allocation.
  static void throw_bad_alloc_unless(bool allocated) {
    if (allocated) return;
    [[maybe_unused]] void* volatile never = ::operator new(SIZE_MAX / 2);
  }

  T* data_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

// A string of bytes, followed by a 0 byte.
class String {
 public:
  String() = default;
  String(String&&) noexcept = default;
  String& operator=(String&&) noexcept = default;

  const char* c_str() const { return bytes_.empty() ? "" : bytes_.data(); }
  const char* data() const { return c_str(); }
  size_t size() const { return bytes_.empty() ? 0 : bytes_.size() - 1; }
  bool empty() const { return size() == 0; }
  char operator[](size_t i) const { return bytes_[i]; }
  const char* begin() const { return c_str(); }
  const char* end() const { return c_str() + size(); }
  std::string_view view() const { return {c_str(), size()}; }
  operator std::string_view() const { return view(); }

  void clear() { bytes_ = {}; }
  [[nodiscard]] bool try_assign(std::string_view text) {
    Array<char> bytes;
    if (!text.empty()) {
      if (!bytes.try_resize_for_overwrite(text.size() + 1)) return false;
      std::memcpy(bytes.data(), text.data(), text.size());
      bytes.back() = '\0';
    }
    bytes_ = std::move(bytes);
    return true;
  }

  template <std::convertible_to<std::string_view> Text>
  friend bool operator==(const String& a, const Text& b) {
    return a.view() == static_cast<std::string_view>(b);
  }
  template <std::convertible_to<std::string_view> Text>
  friend std::strong_ordering operator<=>(const String& a, const Text& b) {
    return a.view().compare(static_cast<std::string_view>(b)) <=> 0;  // libc++ 14 has no <=> for string_view.
  }

  // The functions from here on throw std::bad_alloc if there is no memory.
  String(const String&) = default;
  String& operator=(const String&) = default;
  template <std::convertible_to<std::string_view> Text>
  requires(!std::same_as<Text, String>) String(const Text& text) {
    const std::string_view view = text;
    if (view.empty()) return;
    bytes_.resize(view.size() + 1);  // The new bytes are zero, so the last one ends the string.
    std::memcpy(bytes_.data(), view.data(), view.size());
  }
  operator std::string() const { return std::string(view()); }
  template <std::convertible_to<std::string_view> Text>
  friend std::string operator+(const String& a, const Text& b) {
    return std::string(a.view()) += static_cast<std::string_view>(b);
  }
  template <std::convertible_to<std::string_view> Text>
  requires(!std::same_as<Text, String>) friend std::string operator+(const Text& a, const String& b) {
    return std::string(static_cast<std::string_view>(a)) += b.view();
  }

 private:
  Array<char> bytes_;
};

}  // namespace LINFORMER_NAMESPACE
