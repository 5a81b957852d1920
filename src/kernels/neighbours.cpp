#include "common.hpp"

namespace parasphere {

void bind_neighbours(nb::module_& /*kernels*/) {}

}  // namespace parasphere
