#include "hostile_model/alteration.h"

namespace linformer_test {

const OnLoaded on_loaded = touch_everything;

}  // namespace linformer_test
