#include "common.hpp"

namespace parasphere {

void bind_layout(nb::module_& /*kernels*/) {}

}  // namespace parasphere
