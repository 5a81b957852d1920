#include "common.hpp"

namespace parasphere {

void bind_exact(nb::module_& /*kernels*/) {}

}  // namespace parasphere
