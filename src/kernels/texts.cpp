// Checking and reading texts of Python and of Arrow.
#include "texts.hpp"

#include <algorithm>
#include <limits>

namespace parasphere {
namespace {

// Arrow's C data interface, as declared in its specification.
struct ArrowSchema {
    const char* format;
    const char* name;
    const char* metadata;
    std::int64_t flags;
    std::int64_t n_children;
    ArrowSchema** children;
    ArrowSchema* dictionary;
    void (*release)(ArrowSchema*);
    void* private_data;
};

struct ArrowArray {
    std::int64_t length;
    std::int64_t null_count;
    std::int64_t offset;
    std::int64_t n_buffers;
    std::int64_t n_children;
    const void** buffers;
    ArrowArray** children;
    ArrowArray* dictionary;
    void (*release)(ArrowArray*);
    void* private_data;
};

std::string type_of(nb::handle given) {
    return given.is_none() ? "None" : "of type " + std::string(nb::str(given.type().attr("__name__")).c_str());
}

// The struct within a capsule, which continues to own it.
template <typename Struct>
const Struct& unpacked(nb::handle capsule, const char* name) {
    if (!PyCapsule_IsValid(capsule.ptr(), name)) {
        refuse("__arrow_c_array__ must return two capsules, arrow_schema and arrow_array");
    }
    const auto& found = *static_cast<const Struct*>(PyCapsule_GetPointer(capsule.ptr(), name));
    if (found.release == nullptr) {
        refuse("an Arrow array was released before its texts were read");
    }
    return found;
}

template <typename Number>
Number number_at(const void* numbers, std::size_t i) {  // aligned or not
    Number number{};
    std::memcpy(&number, static_cast<const char*>(numbers) + i * sizeof(Number), sizeof(Number));
    return number;
}

// A text as UTF-8, with U+FFFD in place of lone surrogates, which have no UTF-8 form.
std::string without_surrogates(nb::handle text) {
    const nb::object encoded = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogatepass"));
    char* bytes = nullptr;
    Py_ssize_t size = 0;
    if (!encoded.is_valid() || PyBytes_AsStringAndSize(encoded.ptr(), &bytes, &size) != 0) {
        throw nb::python_error();
    }
    std::string found(bytes, static_cast<std::size_t>(size));
    for (std::size_t i = 0; i + 2 < found.size(); ++i) {
        if (found[i] == '\xED' && static_cast<std::uint8_t>(found[i + 1]) >= 0xA0) {
            found.replace(i, 3, "\xEF\xBF\xBD");
        }
    }
    return found;
}

}  // namespace

Texts::Texts(nb::handle given) {
    if (PyList_Check(given.ptr())) {
        held_ = nb::steal(PyList_AsTuple(given.ptr()));  // others may change the list meanwhile
        if (!held_.is_valid()) {
            throw nb::python_error();
        }
        read_strings(held_);
    } else if (PyTuple_Check(given.ptr())) {
        held_ = nb::borrow(given);
        read_strings(given);
    } else if (nb::hasattr(given, "__arrow_c_array__")) {
        read_arrow(given);
    } else {
        refuse("texts must be a list of str or an Arrow array of strings, but are ", type_of(given));
    }
}

Texts::Texts(nb::handle given_data, nb::handle given_offsets) {
    const auto& data = data_.emplace(given_data, "data");
    const Array<const std::int64_t> offsets(given_offsets, "offsets");
    if (offsets.count() == 0) {
        refuse("offsets must have one entry more than there are texts, not none");
    }
    read_offsets<std::int64_t>(offsets.data(), 0, offsets.count() - 1, data.data(),
                               static_cast<std::int64_t>(data.count()));
}

void Texts::read_strings(nb::handle strings) {
    const Py_ssize_t many = PyTuple_Size(strings.ptr());
    texts_.reserve(static_cast<std::size_t>(many));
    for (Py_ssize_t i = 0; i < many; ++i) {
        PyObject* text = PyTuple_GetItem(strings.ptr(), i);
        if (!PyUnicode_Check(text)) {
            refuse("texts must be str, but text ", i, " (counting from 0) is ", type_of(text));
        }
        Py_ssize_t size = 0;
        const char* data = PyUnicode_AsUTF8AndSize(text, &size);
        if (data == nullptr) {
            if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) {
                throw nb::python_error();
            }
            PyErr_Clear();
            const std::string& sound = rewritten_.emplace_back(without_surrogates(text));
            data = sound.data();
            size = static_cast<Py_ssize_t>(sound.size());
        }
        add(reinterpret_cast<const std::uint8_t*>(data), static_cast<std::size_t>(size));
    }
}

void Texts::read_arrow(nb::handle given) {
    const nb::object capsules = given.attr("__arrow_c_array__")();
    if (!PyTuple_Check(capsules.ptr()) || PyTuple_Size(capsules.ptr()) != 2) {
        refuse("__arrow_c_array__ must return two capsules, arrow_schema and arrow_array");
    }
    held_ = capsules;
    const auto& schema = unpacked<ArrowSchema>(PyTuple_GetItem(capsules.ptr(), 0), "arrow_schema");
    const auto& array = unpacked<ArrowArray>(PyTuple_GetItem(capsules.ptr(), 1), "arrow_array");
    const std::string_view format = schema.format == nullptr ? "" : schema.format;
    const bool views = format == "vu";
    if ((format != "u" && format != "U" && !views) || schema.dictionary != nullptr || array.dictionary != nullptr) {
        refuse("an Arrow array of texts must be one of strings, not of the format '", format, "'",
               schema.dictionary == nullptr ? "" : " with a dictionary");
    }
    constexpr std::int64_t most = std::int64_t{1} << 56;
    if (array.length < 0 || array.length > most || array.offset < 0 || array.offset > most || array.n_children != 0 ||
        array.buffers == nullptr || (views ? array.n_buffers < 3 || array.n_buffers > most : array.n_buffers != 3)) {
        refuse("an Arrow array of texts is damaged: it has ", array.length, " texts from ", array.offset, " on in ",
               array.n_buffers, " buffers");
    }
    const auto many = static_cast<std::size_t>(array.length), first = static_cast<std::size_t>(array.offset);
    if (many == 0) {
        return;
    }
    if (array.buffers[1] == nullptr) {
        refuse("an Arrow array of ", many, " texts is damaged: it does not say where they are");
    }
    if (array.buffers[0] != nullptr && array.null_count != 0) {
        const auto* valid = static_cast<const std::uint8_t*>(array.buffers[0]);
        for (std::size_t i = 0; i < many; ++i) {
            if ((valid[(first + i) / 8] >> ((first + i) % 8) & 1) == 0) {
                refuse("texts must not be null, but text ", i, " (counting from 0) is");
            }
        }
    }
    constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
    if (views) {
        read_views(array.buffers, static_cast<std::size_t>(array.n_buffers), first, many);
    } else if (format == "U") {
        read_offsets<std::int64_t>(array.buffers[1], first, many, array.buffers[2], no_limit);
    } else {
        read_offsets<std::int32_t>(array.buffers[1], first, many, array.buffers[2], no_limit);
    }
}

// `limit` is the size of the data, if known.
template <typename Offset>
void Texts::read_offsets(const void* offsets, std::size_t first, std::size_t many, const void* given_data,
                         std::int64_t limit) {
    const auto* data = static_cast<const std::uint8_t*>(given_data);
    texts_.reserve(many);
    std::int64_t begin = number_at<Offset>(offsets, first);
    for (std::size_t i = 0; i < many; ++i) {
        const std::int64_t end = number_at<Offset>(offsets, first + i + 1);
        if (begin < 0 || end < begin || end > limit || (data == nullptr && end > begin)) {
            refuse("offsets must rise and lie within the data, but text ", i, " lies from ", begin, " to ", end);
        }
        add(data + (data == nullptr ? 0 : begin), static_cast<std::size_t>(end - begin));
        begin = end;
    }
    limit_ = data == nullptr ? nullptr : data + begin;
}

// Strings of at most 12 bytes are stored in their views, and others in one of the buffers after the views; the last
// buffer has the sizes of these buffers.
void Texts::read_views(const void* const* buffers, std::size_t n_buffers, std::size_t first, std::size_t many) {
    const auto* views = static_cast<const std::uint8_t*>(buffers[1]);
    const std::size_t n_data = n_buffers - 3;
    texts_.reserve(many);
    for (std::size_t i = 0; i < many; ++i) {
        const std::uint8_t* view = views + 16 * (first + i);
        const auto size = number_at<std::int32_t>(view, 0);
        if (size >= 0 && size <= 12) {
            add(view + 4, static_cast<std::size_t>(size));
            continue;
        }
        const auto buffer = number_at<std::int32_t>(view, 2), begin = number_at<std::int32_t>(view, 3);
        if (size < 0 || buffer < 0 || static_cast<std::size_t>(buffer) >= n_data || begin < 0 ||
            buffers[2 + buffer] == nullptr || buffers[n_buffers - 1] == nullptr ||
            number_at<std::int64_t>(buffers[n_buffers - 1], static_cast<std::size_t>(buffer)) - begin < size) {
            refuse("an Arrow array of texts is damaged: text ", i, " lies outside of its buffers");
        }
        add(static_cast<const std::uint8_t*>(buffers[2 + buffer]) + begin, static_cast<std::size_t>(size));
    }
}

}  // namespace parasphere
