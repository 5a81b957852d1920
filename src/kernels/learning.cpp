#include "common.hpp"

namespace parasphere {

void bind_learning(nb::module_& /*kernels*/) {}

}  // namespace parasphere
