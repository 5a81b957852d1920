#include "common.hpp"

namespace parasphere {

void bind_solver(nb::module_& /*kernels*/) {}

}  // namespace parasphere
