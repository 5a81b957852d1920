#include "common.hpp"

namespace parasphere {

void bind_directions(nb::module_& /*kernels*/) {}

}  // namespace parasphere
