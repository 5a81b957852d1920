// The extension module parasphere._kernels: each source file binds its own functions.
#include <nanobind/nanobind.h>

#include <exception>
#include <new>
#include <stdexcept>

namespace parasphere {

void bind_bessel(nanobind::module_& kernels);
void bind_equations(nanobind::module_& kernels);
void bind_layout(nanobind::module_& kernels);
void bind_learning(nanobind::module_& kernels);
void bind_near_duplicates(nanobind::module_& kernels);
void bind_ranking(nanobind::module_& kernels);
void bind_rows(nanobind::module_& kernels);
void bind_scanning(nanobind::module_& kernels);
void bind_vector_files(nanobind::module_& kernels);
void bind_words(nanobind::module_& kernels);

namespace {

// Python reports a failed allocation of C++ as a MemoryError; this gives it a message.
void translate_memory(const std::exception_ptr& raised, void*) {
    constexpr const char* message = "there is not enough memory for the arrays that this call needs";
    try {
        std::rethrow_exception(raised);
    } catch (const std::bad_alloc&) {
        PyErr_SetString(PyExc_MemoryError, message);
    } catch (const std::length_error&) {
        PyErr_SetString(PyExc_MemoryError, message);
    }
}

}  // namespace
}  // namespace parasphere

NB_MODULE(_kernels, kernels) {
    // What a cache or a thread still holds when Python exits is no leak, and none of a user's business.
    nanobind::set_leak_warnings(false);
    nanobind::register_exception_translator(parasphere::translate_memory);
    parasphere::bind_bessel(kernels);
    parasphere::bind_equations(kernels);
    parasphere::bind_layout(kernels);
    parasphere::bind_learning(kernels);
    parasphere::bind_near_duplicates(kernels);
    parasphere::bind_ranking(kernels);
    parasphere::bind_rows(kernels);
    parasphere::bind_scanning(kernels);
    parasphere::bind_vector_files(kernels);
    parasphere::bind_words(kernels);
}
