#include "common.hpp"

namespace parasphere {

void bind_words(nb::module_& /*kernels*/) {}

}  // namespace parasphere
