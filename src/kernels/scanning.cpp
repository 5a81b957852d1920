#include "common.hpp"

namespace parasphere {

void bind_scanning(nb::module_& /*kernels*/) {}

}  // namespace parasphere
