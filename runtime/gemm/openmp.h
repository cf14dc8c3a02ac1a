// The calling thread's OpenMP thread count, in whichever OpenMP runtime the provider's library was built with.
#pragma once

namespace linformer {

// Asks for one thread in parallel regions that the calling thread starts; returns the count before, 0 when the
// process has no OpenMP runtime. OpenMP keeps this setting for each thread: no other thread notices.
int use_one_thread();
void restore_threads(int before);

}  // namespace linformer
