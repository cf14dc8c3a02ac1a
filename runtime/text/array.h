// A growable array whose growth can fail: the runtime has no exceptions, so std::vector's could only end the process.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

namespace linformer {

template <class T>
class Array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Array() = default;
  Array(Array&& other) noexcept { swap(other); }
  Array& operator=(Array&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Array() { std::free(data_); }

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
  T& back() { return data_[size_ - 1]; }
  std::span<const T> span() const { return {data_, size_}; }

  void clear() { size_ = 0; }
  void truncate(size_t size) { size_ = size; }  // `size` at most size()

  // These are false when there is no memory; the array is then unchanged.
  [[nodiscard]] bool reserve(size_t capacity) {
    if (capacity <= capacity_) return true;
    if (capacity > SIZE_MAX / 2 / sizeof(T)) return false;
    size_t grown = capacity_ + capacity_ / 2;
    if (grown < capacity) grown = capacity;
    void* data = std::realloc(static_cast<void*>(data_), grown * sizeof(T));
    if (data == nullptr) return false;
    data_ = static_cast<T*>(data);
    capacity_ = grown;
    return true;
  }
  [[nodiscard]] bool push(const T& value) {
    if (size_ == capacity_ && !reserve(size_ < 16 ? 16 : size_ + 1)) return false;
    data_[size_++] = value;
    return true;
  }
  [[nodiscard]] bool append(const T* values, size_t count) {
    if (count > SIZE_MAX / 4 || !reserve(size_ + count)) return false;
    if (count != 0) std::memcpy(data_ + size_, values, count * sizeof(T));
    size_ += count;
    return true;
  }
  // New elements are not initialised.
  [[nodiscard]] bool resize(size_t size) {
    if (!reserve(size)) return false;
    size_ = size;
    return true;
  }
  [[nodiscard]] bool assign(size_t size, const T& value) {
    if (!resize(size)) return false;
    for (size_t i = 0; i < size; ++i) data_[i] = value;
    return true;
  }

 private:
  void swap(Array& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }
  T* data_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace linformer
