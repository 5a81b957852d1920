// Joint learning: texts are cut into pieces at random; a step predicts a batch of pieces, and moves the parameters by
// the gradients.
//
// parasphere/vectors/learning_steps.py describes the computation. The pieces of a batch are divided into groups, which
// share the words drawn; threads process groups, and then rows to move. A group or row is computed by a fixed sequence
// of additions and multiplications, each rounded separately. So the result depends neither on the number of threads nor
// on the processor, except for the last bit of `exp` and `log` of the C library.
#include "common.hpp"

#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>
#include <vector>

namespace parasphere {
namespace {

constexpr std::size_t width = 16;  // numbers that are computed at a time
constexpr float tiny = 1e-8F;

enum Places : std::size_t { at_kappa, at_kappa0, n_numbers = 6 };

constexpr std::size_t padded(std::size_t size) { return (size + width - 1) / width * width; }

// Uninitialised memory for floats, which begins at a cache line.
class Floats {
public:
    Floats() = default;
    explicit Floats(std::size_t count) {
        if (count > std::numeric_limits<std::size_t>::max() / sizeof(float) - 2 * width) {
            throw std::bad_alloc();
        }
        memory_ = std::make_unique_for_overwrite<float[]>(count + width);
        void* place = memory_.get();
        std::size_t room = (count + width) * sizeof(float);
        data_ = static_cast<float*>(std::align(width * sizeof(float), count * sizeof(float), place, room));
    }
    float* data() const { return data_; }
    float* row(std::size_t i, std::size_t stride) const { return data_ + i * stride; }

private:
    std::unique_ptr<float[]> memory_;
    float* data_ = nullptr;
};

// ---- random choices --------------------------------------------------------------------------------------------------

// The generator xorshift64: the same state gives the same numbers everywhere.
class Random {
public:
    explicit Random(std::uint64_t state) : state_(state) {}

    std::uint64_t state() const { return state_; }

    // 31 random bits.
    std::uint32_t bits() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return static_cast<std::uint32_t>(state_ >> 33);
    }

private:
    std::uint64_t state_;
};

// The documents to cut, in order.
std::vector<Range> documents_of(const Array<const std::int64_t>& ends, const Array<const std::int64_t>& order,
                                   std::size_t n_ids) {
    if (ends.count() == 0) {
        refuse("ends must hold where the first document begins and where each ends, not nothing");
    }
    std::vector<Range> documents;
    documents.reserve(order.count());
    for (const std::int64_t n : order.all()) {
        const std::size_t document = index_below(ends.count() - 1, n, "order");
        documents.push_back(range_within(n_ids, ends[document], ends[document + 1], "ends"));
    }
    return documents;
}

// floor(part * size / parts), even if part * size exceeds 64 bits.
std::size_t share_of(std::size_t size, std::size_t part, std::size_t parts) {
    return size / parts * part + size % parts * part / parts;
}

nb::tuple cut(const Array<const std::int32_t>& ids, const Array<const std::int64_t>& ends,
              const Array<const std::int64_t>& order, const Array<const float>& keep, std::int64_t context,
              std::int64_t targets, double share, const Array<std::uint64_t>& state, const Array<std::int32_t>& words,
              const Array<std::int64_t>& begins, const Array<std::int64_t>& middles) {
    state.expect_size(0, 1, "the state of the random numbers");
    constexpr std::int64_t most = std::int64_t{1} << 40;
    if (context < 1 || context > most || targets < 1 || targets > most || context + targets < 3) {
        refuse("pieces need at least one word of context and one target, and three words in all, not context=", context,
               " and targets=", targets);
    }
    if (!(share >= 0.0 && share <= 1.0)) {
        refuse("share must be from 0 to 1, not ", share);
    }
    const std::vector<Range> documents = documents_of(ends, order, ids.count());
    std::size_t room = 0;
    for (const Range& document : documents) {
        room += document.size();
        if (room > words.count()) {
            refuse("words has room for ", words.count(), " words, and the documents have more");
        }
    }
    // Every piece has at least two words.
    if (middles.count() < room / 2 || begins.count() != middles.count() + 1) {
        refuse("middles must have size ", room / 2, " at least, one per two words, and begins one more, not ",
               middles.count(), " and ", begins.count());
    }

    Random random(state[0]);
    std::size_t at = 0;
    std::size_t done = 0;
    begins[0] = 0;
    {
        const Unlocked unlocked(10 * room);
        Interrupts interrupts;
        const auto longest = static_cast<std::size_t>(context + targets);
        for (const Range& document : documents) {
            interrupts.worked(20 * (document.end - document.begin) + 1);
            const std::size_t first = at;
            for (std::size_t i = document.begin; i < document.end; ++i) {
                const std::int32_t id = ids[i];
                if (random.bits() < static_cast<double>(keep[index_below(keep.count(), id, "ids")]) * 2147483648.0) {
                    words[at++] = id;
                }
            }
            const std::size_t m = at - first;
            if (m < 2) {  // nothing to predict a word from
                at = first;
                continue;
            }
            for (std::size_t i = m - 1; i > 0; --i) {
                std::swap(words[first + i], words[first + random.bits() % (i + 1)]);
            }
            const std::size_t pieces = m / longest + (m % longest > 0);
            for (std::size_t piece = 0; piece < pieces; ++piece) {
                const std::size_t begin = share_of(m, piece, pieces);
                const std::size_t end = share_of(m, piece + 1, pieces);
                const auto held = static_cast<std::int64_t>(static_cast<double>(end - begin) * share + 0.5);
                const auto place = static_cast<std::int64_t>(first + end);
                middles[done] = place - std::max<std::int64_t>(1, std::min(targets, held));
                begins[++done] = place;
            }
        }
    }
    state[0] = random.state();
    return nb::make_tuple(at, done);
}

void draw(const Array<const std::int32_t>& table, const Array<std::uint64_t>& state,
          const Array<std::int32_t>& drawn) {
    state.expect_size(0, 1, "the state of the random numbers");
    if (table.count() == 0) {
        refuse("table must hold words to draw, not nothing");
    }
    const Unlocked unlocked(10 * drawn.count());
    Interrupts interrupts;
    Random random(state[0]);
    const std::size_t size = table.count();
    const bool power_of_two = std::has_single_bit(size);  // a division would take longer than everything else
    constexpr std::size_t stretch = 4096;
    for (std::size_t begin = 0; begin < drawn.count(); begin += stretch) {
        const std::size_t end = std::min(begin + stretch, drawn.count());
        interrupts.worked(10 * (end - begin));
        for (std::size_t j = begin; j < end; ++j) {
            const std::size_t bits = random.bits();
            drawn[j] = table[power_of_two ? bits & (size - 1) : bits % size];
        }
    }
    state[0] = random.state();
}

// ---- products ------------------------------------------------------------------------------------------------------

// The sum of the products of two padded rows: 32 sums of every 32nd product, which are then added in pairs.
template <std::size_t lanes>
PARASPHERE_INLINE float dot(const float* one, const float* other, std::size_t size) {
    constexpr std::size_t parts = 2 * width / lanes;
    Lanes<float, lanes> sums[parts] = {};
    std::size_t x = 0;
    for (; x + 2 * width <= size; x += 2 * width) {
        for (std::size_t i = 0; i < parts; ++i) {
            sums[i] = sums[i] + load<float, lanes>(one + x + i * lanes) * load<float, lanes>(other + x + i * lanes);
        }
    }
    if (x < size) {
        for (std::size_t i = 0; i < parts / 2; ++i) {
            sums[i] = sums[i] + load<float, lanes>(one + x + i * lanes) * load<float, lanes>(other + x + i * lanes);
        }
    }
    float pairs[width];
    for (std::size_t i = 0; i < parts / 2; ++i) {
        store(pairs + i * lanes, sums[i] + sums[i + parts / 2]);
    }
    for (std::size_t half = width / 2; half > 0; half /= 2) {
        for (std::size_t i = 0; i < half; ++i) {
            pairs[i] += pairs[i + half];
        }
    }
    return pairs[0];
}

// A row of the matrix, padded with zeros; `space` is used if it has to be copied.
PARASPHERE_INLINE const float* padded_row(const float* row, std::size_t dim, float* space) {
    if (dim % width == 0) {
        return row;
    }
    std::copy_n(row, dim, space);
    return space;
}

template <std::size_t lanes, std::size_t registers>
PARASPHERE_INLINE void add_columns(const float* const* rows, const float* factors, std::size_t n, float* sum,
                                   std::size_t x) {
    Lanes<float, lanes> sums[registers];
    for (std::size_t i = 0; i < registers; ++i) {
        sums[i] = load<float, lanes>(sum + x + i * lanes);
    }
    for (std::size_t row = 0; row < n; ++row) {
        const float* const from = rows[row] + x;
        const float factor = factors[row];
        for (std::size_t i = 0; i < registers; ++i) {
            sums[i] = sums[i] + factor * load<float, lanes>(from + i * lanes);
        }
    }
    for (std::size_t i = 0; i < registers; ++i) {
        store(sum + x + i * lanes, sums[i]);
    }
}

// Add the rows times their factors to the sum, in order.
void add_rows(const float* const* rows, const float* factors, std::size_t n, std::size_t dim, float* sum) {
    vectorised([=](auto bytes) PARASPHERE_LOOP {
        constexpr std::size_t lanes = bytes / sizeof(float), several = lanes < width ? 8 : 4;
        std::size_t x = 0;
        for (; x + several * lanes <= dim; x += several * lanes) {
            add_columns<lanes, several>(rows, factors, n, sum, x);
        }
        for (; x + lanes <= dim; x += lanes) {
            add_columns<lanes, 1>(rows, factors, n, sum, x);
        }
        for (std::size_t row = 0; row < n && x < dim; ++row) {
            for (std::size_t column = x; column < dim; ++column) {
                sum[column] += factors[row] * rows[row][column];
            }
        }
    });
}

template <std::size_t lanes, std::size_t rows, bool transposed>
PARASPHERE_INLINE void multiply_rows(const float* left, std::size_t left_step, const float* right,
                                     std::size_t right_step, std::size_t inner, float* product,
                                     std::size_t product_step) {
    Lanes<float, lanes> sums[rows] = {};
    for (std::size_t k = 0; k < inner; ++k) {
        const Lanes<float, lanes> numbers = load<float, lanes>(right + k * right_step);
        for (std::size_t i = 0; i < rows; ++i) {
            sums[i] = sums[i] + left[transposed ? k * left_step + i : i * left_step + k] * numbers;
        }
    }
    for (std::size_t i = 0; i < rows; ++i) {
        store(product + i * product_step, sums[i]);
    }
}

// The product of two matrices, whose rows are some steps apart, each entry summed in the order of `inner`. The left one
// may be transposed. The number of columns is padded.
template <bool transposed>
void multiply(const float* left, std::size_t left_step, std::size_t rows, const float* right, std::size_t right_step,
              std::size_t inner, float* product, std::size_t columns) {
    vectorised([=](auto bytes) PARASPHERE_LOOP {
        constexpr std::size_t lanes = bytes / sizeof(float), several = 8;
        const std::size_t step = transposed ? 1 : left_step;  // to the factors of the next row of the product
        for (std::size_t x = 0; x < columns; x += lanes) {
            std::size_t row = 0;
            for (; row + several <= rows; row += several) {
                multiply_rows<lanes, several, transposed>(left + row * step, left_step, right + x, right_step, inner,
                                                          product + row * columns + x, columns);
            }
            for (; row < rows; ++row) {
                multiply_rows<lanes, 1, transposed>(left + row * step, left_step, right + x, right_step, inner,
                                                    product + row * columns + x, columns);
            }
        }
    });
}

// exp of a number that is not positive, with a relative error below 2^-22; below -87 it is exp(-87).
PARASPHERE_INLINE float falling_exp(float x) {
    constexpr float shift = 0x1.8p23F;  // adding it rounds to integers
    constexpr float log2_e = 1.44269504F;
    constexpr float ln2_high = 0.693359375F;  // of few bits: its products with small integers are exact
    constexpr float ln2_low = -2.12194440e-4F;
    const float within = x < -87.0F ? -87.0F : x;
    const float shifted = within * log2_e + shift;
    const float n = shifted - shift;
    const float r = (within - n * ln2_high) - n * ln2_low;
    float sum = 1.9875691500e-4F;  // the polynomial of Cephes
    sum = sum * r + 1.3981999507e-3F;
    sum = sum * r + 8.3334519073e-3F;
    sum = sum * r + 4.1665795894e-2F;
    sum = sum * r + 1.6666665459e-1F;
    sum = sum * r + 5.0000001201e-1F;
    const float e = sum * (r * r) + r + 1.0F;
    // The last bits of `shifted` are n: they become an exponent. NaN stays NaN.
    const std::uint32_t exponent = std::bit_cast<std::uint32_t>(shifted) << 23;
    const float found = std::bit_cast<float>(std::bit_cast<std::uint32_t>(e) + exponent);
    return x == x ? found : x;
}

// ---- parameters, prior and batches ---------------------------------------------------------------------------------

// The fields of parasphere.vectors.learning_steps.Parameters and WordPrior, and of the pieces of texts.
template <typename T>
using ParameterFields = std::tuple<Array<T, 2>, Array<T>, Array<T>, Array<T>, Array<T>, Array<const double>>;
using PriorFields = std::tuple<Array<const float, 2>, Array<const float>, Array<const float>, double>;
using PieceFields = std::tuple<Array<const std::int32_t>, Array<const std::int64_t>, Array<const std::int64_t>>;

// What is learned. `judge` only reads it, from arrays that may be read-only.
struct Parameters {
    template <typename T>
    explicit Parameters(const ParameterFields<T>& given) {
        const auto& [rows, row_squares, word_weights, squares_of_weights, direction, some_numbers] = given;
        n_words = rows.size(0);
        dim = rows.size(1);
        row_squares.expect_size(0, n_words, "one per row of matrix");
        word_weights.expect_size(0, n_words, "one per row of matrix");
        squares_of_weights.expect_size(0, n_words, "one per row of matrix");
        direction.expect_size(0, dim, "that of a row of matrix");
        some_numbers.expect_size(0, n_numbers, "kappa, kappa0 and what their steps depend on");
        if (dim == 0) {
            refuse("matrix must have columns");
        }
        matrix = const_cast<float*>(rows.data());
        squares = const_cast<float*>(row_squares.data());
        weights = const_cast<float*>(word_weights.data());
        weight_squares = const_cast<float*>(squares_of_weights.data());
        mean = const_cast<float*>(direction.data());
        kappa = some_numbers[at_kappa];
        kappa0 = some_numbers[at_kappa0];
    }

    float* row(std::int32_t word) const { return matrix + static_cast<std::size_t>(word) * dim; }
    float weight(std::int32_t word) const { return weights[static_cast<std::size_t>(word)]; }

    std::size_t n_words;
    std::size_t dim;
    float* matrix;
    float* squares;
    float* weights;
    float* weight_squares;
    float* mean;
    double kappa;
    double kappa0;
};

struct Prior {
    Prior(const PriorFields& given, const Parameters& model)
        : rows(std::get<0>(given)), strengths(std::get<1>(given)), weights(std::get<2>(given)), pull(std::get<3>(given)) {
        rows.expect_size(0, model.n_words, "one per row of matrix");
        rows.expect_size(1, model.dim, "that of a row of matrix");
        strengths.expect_size(0, model.n_words, "one per row of matrix");
        weights.expect_size(0, model.n_words, "one per row of matrix");
    }

    const Array<const float, 2>& rows;
    const Array<const float>& strengths;
    const Array<const float>& weights;
    double pull;
};

struct Piece {
    std::size_t begin;
    std::size_t middle;
    std::size_t end;
};

// Some pieces, concatenated, with the words drawn for them and the values computed from them. The words are checked
// copies.
struct Batch {
    std::vector<std::int32_t> words;
    std::vector<Piece> pieces;
    std::vector<std::int32_t> drawn;
    std::size_t n_groups;
    std::size_t n_drawn;  // per group
    std::size_t stride;   // of padded rows
    bool learn;

    Floats directions;     // of the pieces, a padded row each
    Floats pulled;         // the gradients with respect to eta, a padded row each
    Floats by_drawn;       // the gradients with respect to the drawn words' rows, a padded row each
    Floats forces;         // per word: the gradient of a target's logit times kappa and its weight
    Floats squares;        // per piece: the squared length of pulled
    Floats drawn_squares;  // per drawn word: the sum of its squared shares
    std::vector<double> losses;                 // per piece
    std::vector<std::array<double, 2>> slopes;  // per piece: the gradients by the logarithms of kappa and kappa0

    std::size_t group_begin(std::size_t group) const {
        const std::size_t n = pieces.size();
        return n / n_groups * group + n % n_groups * group / n_groups;
    }
};

Batch lay_out(const PieceFields& pieces, const Array<const std::int64_t>& some,
              const Array<const std::int32_t, 2>& drawn, const Parameters& model, bool learn) {
    const auto& [words, begins, middles] = pieces;
    begins.expect_size(0, middles.count() + 1, "one more than middles");
    if (some.count() == 0 || drawn.count() == 0) {
        refuse("some and drawn must not be empty");
    }

    Batch batch;
    batch.n_groups = drawn.size(0);
    batch.n_drawn = drawn.size(1);
    batch.stride = padded(model.dim);
    batch.learn = learn;
    const auto check = [&model](const char* name, std::span<const std::int32_t> ids) {
        for (const std::int32_t id : ids) {
            index_below(model.n_words, id, name);
        }
    };
    batch.drawn.assign(drawn.all().begin(), drawn.all().end());
    check("drawn", batch.drawn);
    batch.pieces.reserve(some.count());
    for (const std::int64_t number : some.all()) {
        const std::size_t piece = index_below(middles.count(), number, "some");
        const std::int64_t begin = begins[piece];
        const std::int64_t middle = middles[piece];
        const std::int64_t end = begins[piece + 1];
        if (begin < 0 || middle < begin || end < middle || static_cast<std::size_t>(end) > words.count()) {
            refuse("begins and middles must rise, to the ", words.count(), " words at most, but piece ", number,
                   " begins at ", begin, ", its targets at ", middle, ", and it ends at ", end);
        }
        const std::size_t at = batch.words.size();
        const auto from = static_cast<std::size_t>(begin);
        const auto part = words.all().subspan(from, static_cast<std::size_t>(end) - from);
        batch.words.insert(batch.words.end(), part.begin(), part.end());
        batch.pieces.push_back({at, at + static_cast<std::size_t>(middle - begin), batch.words.size()});
    }
    check("words", batch.words);
    if (batch.words.size() + batch.drawn.size() > std::size_t{1} << 30) {
        refuse("a batch must have at most 2^30 words, not ", batch.words.size(), " and ", batch.drawn.size(), " drawn");
    }
    const std::size_t n = batch.pieces.size();
    batch.directions = Floats(n * batch.stride);
    batch.pulled = Floats(n * batch.stride);
    batch.by_drawn = Floats(learn ? batch.drawn.size() * batch.stride : 0);
    batch.forces = Floats(batch.words.size());
    batch.squares = Floats(n);
    batch.drawn_squares = Floats(batch.drawn.size());
    batch.losses.resize(n);
    batch.slopes.resize(n);
    return batch;
}

// ---- threads -------------------------------------------------------------------------------------------------------

// Call work(i, worker) for each i below n in several threads, including the calling one, which checks for Ctrl-C.
// `amount` is the approximate time of one call in nanoseconds.
template <typename Work>
void share(std::size_t n, std::size_t threads, std::size_t amount, Interrupts& interrupts, Work&& work) {
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex failing;
    const auto run = [&](std::size_t worker) {
        try {
            for (std::size_t i = next++; i < n; i = next++) {
                work(i, worker);
                if (worker == 0) {
                    interrupts.worked(amount);
                }
            }
        } catch (...) {
            next = n;  // the other threads stop too
            const std::lock_guard lock(failing);
            failure = std::current_exception();
        }
    };
    std::vector<std::thread> others;
    try {
        others.reserve(threads);
        for (std::size_t worker = 1; worker < std::min(threads, n); ++worker) {
            others.emplace_back(run, worker);
        }
    } catch (const std::exception&) {
        // No more threads can be started: the existing ones do all the work.
    }
    run(0);
    for (std::thread& other : others) {
        other.join();
    }
    if (failure) {
        std::rethrow_exception(failure);
    }
}

std::size_t checked_threads(std::int64_t threads) {
    if (threads < 1 || threads > 1024) {
        refuse("threads must be from 1 to 1024, not ", threads);
    }
    return static_cast<std::size_t>(threads);
}

// ---- predicting ----------------------------------------------------------------------------------------------------

// Scratch memory for the work on groups, reused from group to group.
struct Desk {
    std::vector<const float*> rows;
    std::vector<float> factors;
    Floats row;         // a padded row
    Floats mean;        // padded
    Floats noise;       // the drawn words' rows, times kappa and their weights
    Floats transposed;  // the directions, one piece per column
    Floats masses;      // of the drawn words, one piece per column
    Floats tops;        // per piece: the largest logarithm of a mass
    Floats others;      // per piece: the sum of the masses, relative to exp(top)
    Floats totals;      // per piece: the factor of the masses that gives their share in the gradient
    Floats mixed;       // per piece, a padded row: the gradient by the drawn words

    Desk(const Batch& batch, std::span<const float> the_mean) {
        std::size_t longest = 0;
        for (const Piece& piece : batch.pieces) {
            longest = std::max(longest, piece.end - piece.begin);
        }
        rows.resize(longest);
        factors.resize(longest);
        const std::size_t stride = batch.stride;
        const std::size_t most = padded(batch.pieces.size() / batch.n_groups + 1);
        row = zeros(stride);
        mean = zeros(stride);
        std::ranges::copy(the_mean, mean.data());
        noise = zeros(batch.n_drawn * stride);  // the padding stays zero
        transposed = Floats(stride * most);
        masses = Floats(batch.n_drawn * most);
        tops = Floats(most);
        others = Floats(most);
        totals = Floats(most);
        mixed = Floats(most * stride);
    }

    static Floats zeros(std::size_t count) {
        Floats floats(count);
        std::fill_n(floats.data(), count, 0.0F);
        return floats;
    }
};

PARASPHERE_INLINE void prefetch_word(const Parameters& model, std::int32_t word) {
    const float* const row = model.row(word);
    prefetch(model.weights + word);
    for (std::size_t x = 0; x < model.dim; x += width) {
        prefetch(row + x);
    }
}

// Compute the posterior direction of the context of a piece; return the length of eta.
template <std::size_t lanes>
PARASPHERE_INLINE float point(const Batch& batch, const Parameters& model, Desk& desk, std::size_t p) {
    const double kappa = model.kappa;
    const auto kappa0 = static_cast<float>(model.kappa0);
    const Piece& piece = batch.pieces[p];
    float* const eta = batch.directions.row(p, batch.stride);
    for (std::size_t x = 0; x < batch.stride; x += lanes) {
        store(eta + x, kappa0 * load<float, lanes>(desk.mean.data() + x));
    }
    const std::size_t n = piece.middle - piece.begin;
    for (std::size_t i = 0; i < n; ++i) {
        const std::int32_t word = batch.words[piece.begin + i];
        desk.rows[i] = model.row(word);
        desk.factors[i] = static_cast<float>(kappa * static_cast<double>(model.weight(word)));
    }
    add_rows(desk.rows.data(), desk.factors.data(), n, model.dim, eta);
    const float length = std::sqrt(dot<lanes>(eta, eta, batch.stride)) + tiny;
    const float inverse = 1.0F / length;
    for (std::size_t x = 0; x < batch.stride; x += lanes) {
        store(eta + x, inverse * load<float, lanes>(eta + x));
    }
    return length;
}

// Compute the masses of the drawn words for the pieces of a group, relative to the largest of each piece.
template <std::size_t lanes>
PARASPHERE_INLINE void weigh_drawn(const Batch& batch, Desk& desk, const std::int32_t* drawn, const float* log_q,
                                   std::size_t dim, std::size_t columns) {
    const std::size_t m = batch.n_drawn;
    float* const masses = desk.masses.data();
    multiply<false>(desk.noise.data(), batch.stride, m, desk.transposed.data(), columns, dim, masses, columns);
    float* const tops = desk.tops.data();
    float* const others = desk.others.data();
    std::fill_n(tops, columns, -1e30F);
    std::fill_n(others, columns, 0.0F);
    for (std::size_t j = 0; j < m; ++j) {
        const float log_of = log_q[drawn[j]];
        float* const row = masses + j * columns;
        for (std::size_t c = 0; c < columns; ++c) {
            row[c] -= log_of;
            tops[c] = row[c] > tops[c] ? row[c] : tops[c];
        }
    }
    for (std::size_t j = 0; j < m; ++j) {
        float* const row = masses + j * columns;
        for (std::size_t c = 0; c < columns; ++c) {
            row[c] = falling_exp(row[c] - tops[c]);
            others[c] += row[c];
        }
    }
}

// Compute the loss of the target words of a piece, and the gradients of their logits; return the total factor of the
// masses of the drawn words.
template <std::size_t lanes>
PARASPHERE_INLINE double predict(Batch& batch, const Parameters& model, Desk& desk, const float* log_q, std::size_t p,
                                 double top, double others) {
    const double kappa = model.kappa;
    const Piece& piece = batch.pieces[p];
    const float* const direction = batch.directions.row(p, batch.stride);
    double loss = 0.0;
    double total = 0.0;
    for (std::size_t i = piece.middle; i < piece.end; ++i) {
        const std::int32_t word = batch.words[i];
        const float* const row = model.row(word);
        const double scale = kappa * static_cast<double>(model.weight(word));
        const float along = dot<lanes>(direction, padded_row(row, model.dim, desk.row.data()), batch.stride);
        const double logit = scale * static_cast<double>(along) - static_cast<double>(log_q[word]) - top;
        const double mass = std::exp(std::min(logit, 80.0));
        const double sum = mass + others;
        loss += std::log(sum) - logit;
        total += 1.0 / sum;
        const auto force = static_cast<float>((mass / sum - 1.0) * scale);
        batch.forces.data()[i] = force;
        desk.rows[i - piece.middle] = row;
        desk.factors[i - piece.middle] = force;
    }
    batch.losses[p] = loss;
    if (batch.learn) {
        float* const pulled = batch.pulled.row(p, batch.stride);
        std::fill_n(pulled, batch.stride, 0.0F);
        add_rows(desk.rows.data(), desk.factors.data(), piece.end - piece.middle, model.dim, pulled);
    }
    return total;
}

// Convert the gradient with respect to a direction into that with respect to eta.
template <std::size_t lanes>
PARASPHERE_INLINE void turn(Batch& batch, const Desk& desk, const float* by_drawn, double kappa0, float length,
                            std::size_t p) {
    const std::size_t stride = batch.stride;
    float* const pulled = batch.pulled.row(p, stride);
    const float* const direction = batch.directions.row(p, stride);
    for (std::size_t x = 0; x < stride; x += lanes) {
        store(pulled + x, load<float, lanes>(pulled + x) + load<float, lanes>(by_drawn + x));
    }
    const float along = dot<lanes>(pulled, direction, stride);
    const float inverse = 1.0F / length;
    for (std::size_t x = 0; x < stride; x += lanes) {
        store(pulled + x, inverse * (load<float, lanes>(pulled + x) + -along * load<float, lanes>(direction + x)));
    }
    batch.squares.data()[p] = dot<lanes>(pulled, pulled, stride);
    const double by_prior = kappa0 * static_cast<double>(dot<lanes>(desk.mean.data(), pulled, stride));
    // `pulled` is orthogonal to eta: the context's term of the slope of kappa is minus the prior's term.
    batch.slopes[p] = {static_cast<double>(along) - by_prior, by_prior};
}

// Predict the pieces of a group with the words drawn for them; if `learn`, write the gradients too.
template <std::size_t lanes>
PARASPHERE_INLINE void work_on(Batch& batch, const Parameters& model, Desk& desk, const float* log_q,
                                   std::size_t group) {
    const std::size_t lo = batch.group_begin(group);
    const std::size_t n = batch.group_begin(group + 1) - lo;
    const std::size_t dim = model.dim;
    const std::size_t stride = batch.stride;
    const std::size_t columns = padded(n);
    const std::int32_t* const drawn = batch.drawn.data() + group * batch.n_drawn;
    float* const transposed = desk.transposed.data();
    float lengths_here[width];
    std::vector<float> more_lengths(n > width ? n : 0);
    float* const lengths = n > width ? more_lengths.data() : lengths_here;
    std::fill_n(transposed, stride * columns, 0.0F);
    for (std::size_t k = 0; k < n; ++k) {
        if (k + 1 < n) {
            for (std::size_t i = batch.pieces[lo + k + 1].begin; i < batch.pieces[lo + k + 1].middle; ++i) {
                prefetch_word(model, batch.words[i]);
            }
        }
        lengths[k] = point<lanes>(batch, model, desk, lo + k);
        const float* const direction = batch.directions.row(lo + k, stride);
        for (std::size_t x = 0; x < dim; ++x) {
            transposed[x * columns + k] = direction[x];
        }
    }
    constexpr std::size_t ahead = 8;
    const double kappa = model.kappa;
    for (std::size_t j = 0; j < std::min(ahead, batch.n_drawn); ++j) {
        prefetch_word(model, drawn[j]);
    }
    for (std::size_t j = 0; j < batch.n_drawn; ++j) {
        prefetch(log_q + drawn[j]);
        prefetch_word(model, drawn[std::min(j + ahead, batch.n_drawn - 1)]);
        const auto scale = static_cast<float>(kappa * static_cast<double>(model.weight(drawn[j])));
        const float* const row = model.row(drawn[j]);
        float* const noise = desk.noise.row(j, stride);
        for (std::size_t x = 0; x < dim; ++x) {
            noise[x] = scale * row[x];
        }
    }
    weigh_drawn<lanes>(batch, desk, drawn, log_q, dim, columns);
    float* const totals = desk.totals.data();
    std::fill_n(totals, columns, 0.0F);
    for (std::size_t k = 0; k < n; ++k) {
        if (k + 1 < n) {
            for (std::size_t i = batch.pieces[lo + k + 1].middle; i < batch.pieces[lo + k + 1].end; ++i) {
                prefetch_word(model, batch.words[i]);
            }
        }
        totals[k] = static_cast<float>(predict<lanes>(batch, model, desk, log_q, lo + k,
                                               static_cast<double>(desk.tops.data()[k]),
                                               static_cast<double>(desk.others.data()[k])));
    }
    if (!batch.learn) {
        return;
    }
    float* const masses = desk.masses.data();
    for (std::size_t j = 0; j < batch.n_drawn; ++j) {
        float* const row = masses + j * columns;
        for (std::size_t c = 0; c < columns; c += lanes) {
            store(row + c, load<float, lanes>(row + c) * load<float, lanes>(totals + c));
        }
        batch.drawn_squares.data()[group * batch.n_drawn + j] = dot<lanes>(row, row, columns);
    }
    multiply<false>(masses, columns, batch.n_drawn, batch.directions.row(lo, stride), stride, n,
                    batch.by_drawn.row(group * batch.n_drawn, stride), stride);
    multiply<true>(masses, columns, n, desk.noise.data(), stride, batch.n_drawn, desk.mixed.data(), stride);
    for (std::size_t k = 0; k < n; ++k) {
        turn<lanes>(batch, desk, desk.mixed.row(k, stride), model.kappa0, lengths[k], lo + k);
    }
}

// ---- learning ------------------------------------------------------------------------------------------------------

// The positions of each word, first in the batch and then among the drawn words, in order.
struct Occurrences {
    std::vector<std::int32_t> words;  // that are moved, in the order of their first positions
    std::vector<std::uint32_t> ends;  // of the positions of each word
    std::vector<std::uint32_t> places;

    explicit Occurrences(const Batch& batch) {
        const std::size_t n = batch.words.size() + batch.drawn.size();
        const std::size_t room = std::bit_ceil(2 * n);
        const int shift = 64 - std::countr_zero(room);
        std::vector<std::int32_t> slots(room, -1);  // hash table with linear probing: indices into `words`
        std::vector<std::uint32_t> numbers(n);
        std::vector<std::uint32_t> counts;
        const auto number_of = [&](std::int32_t word) {
            const std::uint64_t mixed = static_cast<std::uint64_t>(word) * 0x9E3779B97F4A7C15;
            auto slot = static_cast<std::size_t>(mixed >> shift);
            while (slots[slot] >= 0 && words[static_cast<std::size_t>(slots[slot])] != word) {
                slot = (slot + 1) & (room - 1);
            }
            if (slots[slot] < 0) {
                slots[slot] = static_cast<std::int32_t>(words.size());
                words.push_back(word);
                counts.push_back(0);
            }
            return static_cast<std::uint32_t>(slots[slot]);
        };
        std::size_t at = 0;
        for (const auto* each : {&batch.words, &batch.drawn}) {
            for (const std::int32_t word : *each) {
                numbers[at] = number_of(word);
                ++counts[numbers[at++]];
            }
        }
        ends.resize(words.size());
        std::uint32_t total = 0;
        for (std::size_t t = 0; t < words.size(); ++t) {
            ends[t] = total;  // the begin of its positions; each position advances it
            total += counts[t];
        }
        places.resize(n);
        for (std::size_t i = 0; i < n; ++i) {
            places[ends[numbers[i]]++] = static_cast<std::uint32_t>(i);
        }
    }

    std::span<const std::uint32_t> of(std::size_t t) const {
        const std::size_t begin = t == 0 ? 0 : ends[t - 1];
        return std::span(places).subspan(begin, ends[t] - begin);
    }
};

// The piece of each word of a batch.
std::vector<std::uint32_t> owners_of(const Batch& batch) {
    std::vector<std::uint32_t> owners(batch.words.size());
    for (std::size_t p = 0; p < batch.pieces.size(); ++p) {
        std::fill(owners.begin() + static_cast<std::ptrdiff_t>(batch.pieces[p].begin),
                  owners.begin() + static_cast<std::ptrdiff_t>(batch.pieces[p].end), static_cast<std::uint32_t>(p));
    }
    return owners;
}

struct Step {
    float rate;
    float pull;
    bool weigh;
};

struct MovingDesk {
    std::vector<const float*> rows;
    std::vector<float> factors;
    Floats gradient;  // a padded row each
    Floats moved;
    Floats row;

    explicit MovingDesk(std::size_t stride)
        : gradient(Desk::zeros(stride)), moved(Desk::zeros(stride)), row(Desk::zeros(stride)) {}
};

// Move the row and weight of a word, given its positions in the batch and among the drawn words.
template <std::size_t lanes>
PARASPHERE_INLINE void move_word(const Batch& batch, const Parameters& model, const Prior& prior, Step step,
                                 const std::vector<std::uint32_t>& owners, std::span<const std::uint32_t> places,
                                 std::int32_t word, MovingDesk& desk) {
    const std::size_t dim = model.dim;
    const std::size_t stride = batch.stride;
    const auto w = static_cast<std::size_t>(word);
    const float force = static_cast<float>(model.kappa) * model.weights[w];
    float count = 0.0F;
    float square = 0.0F;
    desk.rows.clear();
    desk.factors.clear();
    for (const std::uint32_t place : places) {
        float factor = force;
        if (place >= batch.words.size()) {
            const std::size_t j = place - batch.words.size();
            desk.rows.push_back(batch.by_drawn.row(j, stride));
            square += force * force * batch.drawn_squares.data()[j];
        } else {
            const std::size_t p = owners[place];
            count += 1.0F;
            if (place < batch.pieces[p].middle) {
                desk.rows.push_back(batch.pulled.row(p, stride));
                square += force * force * batch.squares.data()[p];
            } else {
                desk.rows.push_back(batch.directions.row(p, stride));
                factor = batch.forces.data()[place];
                square += factor * factor;
            }
        }
        desk.factors.push_back(factor);
    }
    float* const gradient = desk.gradient.data();
    std::fill_n(gradient, stride, 0.0F);
    add_rows(desk.rows.data(), desk.factors.data(), desk.rows.size(), stride, gradient);

    float* const row = model.matrix + w * dim;
    const float along = dot<lanes>(gradient, padded_row(row, dim, desk.row.data()), stride);
    if (step.weigh) {
        const float slope = along + step.pull * count * std::log(model.weights[w] / prior.weights[w]);
        model.weight_squares[w] += slope * slope / std::max(count, 1.0F);
        model.weights[w] *= std::exp(-0.5F * step.rate * slope / std::sqrt(model.weight_squares[w] + 1e-6F));
    }
    model.squares[w] += square;
    const float size = step.rate / std::sqrt(model.squares[w] + tiny);
    float* const moved = desk.moved.data();
    for (std::size_t x = 0; x < dim; ++x) {
        moved[x] = row[x] - size * (gradient[x] - along * row[x]);
    }
    const float held = size * prior.strengths[w] * count;
    if (held > 0) {  // an implicit step towards the prior: an explicit gradient step would overshoot if it is strong
        const float* const start = prior.rows.data() + w * dim;
        for (std::size_t x = 0; x < dim; ++x) {
            moved[x] += held * start[x];
        }
    }
    const float scale = 1.0F / std::sqrt(dot<lanes>(moved, moved, stride));
    for (std::size_t x = 0; x < dim; ++x) {
        row[x] = scale * moved[x];
    }
}

template <std::size_t lanes>
PARASPHERE_INLINE void move_words(const Batch& batch, const Parameters& model, const Prior& prior, Step step,
                const std::vector<std::uint32_t>& owners, const Occurrences& occurrences, std::size_t lo,
                std::size_t hi, MovingDesk& desk) {
    constexpr std::size_t ahead = 4;
    for (std::size_t t = lo; t < hi; ++t) {
        const std::size_t later = std::min(t + ahead, hi - 1);
        const std::int32_t word = occurrences.words[later];
        prefetch_word(model, word);
        prefetch(model.squares + word);
        prefetch(model.weight_squares + word);
        prefetch(prior.weights.data() + word);
        prefetch(prior.strengths.data() + word);
        for (const std::uint32_t place : occurrences.of(later)) {
            if (place >= batch.words.size()) {
                const float* const row = batch.by_drawn.row(place - batch.words.size(), batch.stride);
                for (std::size_t x = 0; x < batch.stride; x += width) {
                    prefetch(row + x);
                }
            }
        }
        move_word<lanes>(batch, model, prior, step, owners, occurrences.of(t), occurrences.words[t], desk);
    }
}

// Move the mean direction against the sum of the gradients with respect to eta.
template <std::size_t lanes>
PARASPHERE_INLINE void move_mean(const Batch& batch, const Parameters& model, float rate) {
    const std::size_t dim = model.dim;
    const std::size_t stride = batch.stride;
    const Floats gradient = Desk::zeros(stride);
    const Floats mean = Desk::zeros(stride);
    std::ranges::copy(std::span(model.mean, model.dim), mean.data());
    for (std::size_t p = 0; p < batch.pieces.size(); ++p) {
        const float* const pulled = batch.pulled.row(p, stride);
        for (std::size_t x = 0; x < stride; x += lanes) {
            store(gradient.data() + x, load<float, lanes>(gradient.data() + x) + load<float, lanes>(pulled + x));
        }
    }
    const float along = dot<lanes>(gradient.data(), mean.data(), stride);
    const float size = 0.01F * rate * static_cast<float>(model.kappa0);
    for (std::size_t x = 0; x < stride; ++x) {
        mean.data()[x] -= size * (gradient.data()[x] - along * mean.data()[x]);
    }
    const float length = std::sqrt(dot<lanes>(mean.data(), mean.data(), stride));
    for (std::size_t x = 0; x < dim; ++x) {
        model.mean[x] = mean.data()[x] / length;
    }
}

// ---- batches -------------------------------------------------------------------------------------------------------

void work(Batch& batch, const Parameters& model, const Array<const float>& log_q, std::size_t threads,
          Interrupts& interrupts) {
    std::vector<Desk> desks;
    for (std::size_t worker = 0; worker < std::min(threads, batch.n_groups); ++worker) {
        desks.emplace_back(batch, std::span(model.mean, model.dim));
    }
    const std::size_t group = batch.pieces.size() / batch.n_groups + 1;
    const std::size_t amount = group * (batch.n_drawn + batch.words.size() / batch.pieces.size()) * batch.stride / 8;
    share(batch.n_groups, threads, amount, interrupts, [&](std::size_t number, std::size_t worker) {
        vectorised([&batch, &model, &desk = desks[worker], log_q = log_q.data(), number](auto bytes)
                       PARASPHERE_LOOP { work_on<bytes / sizeof(float)>(batch, model, desk, log_q, number); });
    });
}

struct Loss {
    double sum = 0.0;
    std::size_t count = 0;
    std::array<double, 2> slopes{};
};

Loss summed(const Batch& batch) {
    Loss loss;
    for (std::size_t p = 0; p < batch.pieces.size(); ++p) {
        loss.sum += batch.losses[p];
        loss.count += batch.pieces[p].end - batch.pieces[p].middle;
        loss.slopes[0] += batch.slopes[p][0];
        loss.slopes[1] += batch.slopes[p][1];
    }
    const auto n = static_cast<double>(batch.pieces.size());
    loss.slopes[0] /= n;
    loss.slopes[1] /= n;
    return loss;
}

nb::tuple learn(const PieceFields& pieces, const Array<const std::int64_t>& some,
                const Array<const std::int32_t, 2>& drawn, const Array<const float>& log_q,
                const ParameterFields<float>& parameters, const PriorFields& given_prior, double rate, bool weigh,
                std::int64_t n_threads) {
    const std::size_t threads = checked_threads(n_threads);
    const Parameters model(parameters);
    const Prior prior(given_prior, model);
    log_q.expect_size(0, model.n_words, "one per row of matrix");
    Batch batch = lay_out(pieces, some, drawn, model, true);
    {
        const nb::gil_scoped_release released;
        Interrupts interrupts;
        work(batch, model, log_q, threads, interrupts);
        if (rate > 0) {
            const Step step{static_cast<float>(rate), static_cast<float>(prior.pull), weigh};
            const Occurrences occurrences(batch);
            const std::vector<std::uint32_t> owners = owners_of(batch);
            constexpr std::size_t together = 64;  // rows that a thread takes at a time
            const std::size_t count = occurrences.words.size();
            std::vector<MovingDesk> desks;
            for (std::size_t worker = 0; worker < threads; ++worker) {
                desks.emplace_back(batch.stride);
            }
            const std::size_t amount = together * batch.stride * (1 + occurrences.places.size() / count);
            const std::size_t parts = (count + together - 1) / together;
            share(parts, threads, amount, interrupts, [&](std::size_t i, std::size_t worker) {
                vectorised([&, i, worker](auto bytes) PARASPHERE_LOOP {
                    move_words<bytes / sizeof(float)>(batch, model, prior, step, owners, occurrences, i * together,
                                                      std::min((i + 1) * together, count), desks[worker]);
                });
            });
            vectorised([&](auto bytes)
                           PARASPHERE_LOOP { move_mean<bytes / sizeof(float)>(batch, model, step.rate); });
        }
    }
    const Loss loss = summed(batch);
    return nb::make_tuple(loss.sum, loss.count, loss.slopes[0], loss.slopes[1]);
}

nb::tuple judge(const PieceFields& pieces, const Array<const std::int64_t>& some,
                const Array<const std::int32_t, 2>& drawn, const Array<const float>& log_q,
                const ParameterFields<const float>& parameters, std::int64_t n_threads) {
    const std::size_t threads = checked_threads(n_threads);
    const Parameters model(parameters);
    log_q.expect_size(0, model.n_words, "one per row of matrix");
    Batch batch = lay_out(pieces, some, drawn, model, false);
    {
        const nb::gil_scoped_release released;
        Interrupts interrupts;
        work(batch, model, log_q, threads, interrupts);
    }
    const Loss loss = summed(batch);
    return nb::make_tuple(loss.sum, loss.count);
}

}  // namespace

void bind_learning(nb::module_& kernels) {
    kernels.def("cut", cut, nb::arg("ids"), nb::arg("ends"), nb::arg("order"), nb::arg("keep"), nb::arg("context"),
                nb::arg("targets"), nb::arg("share"), nb::arg("state"), nb::arg("words"), nb::arg("begins"),
                nb::arg("middles"),
                "Leave out words of each document at random, shuffle the others, and cut them into pieces. ``words``, "
                "``begins`` and ``middles`` have room for all; return the numbers of words and pieces.");
    kernels.def("draw", draw, nb::arg("table"), nb::arg("state"), nb::arg("drawn"),
                "Fill ``drawn`` with words drawn from the table.");
    kernels.def("learn", learn, nb::arg("pieces"), nb::arg("some"), nb::arg("drawn"), nb::arg("log_q"),
                nb::arg("parameters"), nb::arg("prior"), nb::arg("rate"), nb::arg("weigh"), nb::arg("threads"),
                "Predict some pieces with the words drawn, (n_groups, n_drawn), and move the parameters; a rate of 0 "
                "moves none. Return the loss, the number of target words, and the mean gradients with respect to the "
                "logarithms of kappa and kappa0.");
    kernels.def("judge", judge, nb::arg("pieces"), nb::arg("some"), nb::arg("drawn"), nb::arg("log_q"),
                nb::arg("parameters"), nb::arg("threads"),
                "Predict some pieces with the words drawn, (n_groups, n_drawn); return the loss and the number of "
                "target words.");
}

}  // namespace parasphere
