#include "common.hpp"

namespace parasphere {

void bind_ranking(nb::module_& /*kernels*/) {}

}  // namespace parasphere
