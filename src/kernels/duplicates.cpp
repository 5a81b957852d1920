#include "common.hpp"

namespace parasphere {

void bind_duplicates(nb::module_& /*kernels*/) {}

}  // namespace parasphere
