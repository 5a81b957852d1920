// Phrases of a vocabulary, such as "new york", which replace their words in texts.
#include "common.hpp"
#include "indices.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace parasphere {
namespace {

// A trie of runs of words. Nodes below `n_words` are single words; the others are runs, each of a shorter run, its
// parent, and one more word. The runs are sorted and found by bisection, so that no choice of phrases makes it slow.
class PhraseTable {
public:
    PhraseTable(nb::handle given_parents, nb::handle given_words, nb::handle given_entries) {
        const Array<const std::int64_t> parents(given_parents, "parents");
        const Array<const std::int32_t> words(given_words, "words");
        const Array<const std::int32_t> entries(given_entries, "entries");
        words.expect_size(0, parents.count(), "one per parent");
        if (entries.count() < parents.count()) {
            refuse("entries must have one number per node, at least ", parents.count(), ", not ", entries.count());
        }
        n_words_ = entries.count() - parents.count();
        const auto below = static_cast<std::int64_t>(n_words_);
        for (std::size_t i = 0; i < parents.count(); ++i) {
            if (parents[i] < 0 || parents[i] >= below + static_cast<std::int64_t>(i)) {
                refuse("parents must be earlier nodes, but that of run ", i, " is ", parents[i]);
            }
            if (words[i] < 0 || words[i] >= below) {
                refuse("words must lie between 0 and ", below - 1, ", but that of run ", i, " is ", words[i]);
            }
            runs_.push_back({{parents[i], words[i]}, below + static_cast<std::int64_t>(i)});
        }
        for (const std::int32_t entry : entries.all()) {
            if (entry < -1 || entry >= below) {
                refuse("entries must lie between -1 and ", below - 1, ", not be ", entry);
            }
        }
        entries_.assign(entries.all().begin(), entries.all().end());
        std::sort(runs_.begin(), runs_.end());
    }

    // Replace words by the longest phrases, from left to right; return how many units are left.
    std::size_t join(nb::handle given_ids, nb::handle given_ends, nb::handle given_begins) const {
        const Array<std::int32_t> ids(given_ids, "ids");
        const Array<std::int64_t> ends(given_ends, "ends");
        const auto begins = array_or_none<std::int64_t>(given_begins, "begins");
        if (begins) {
            begins->expect_size(0, ids.count(), "one per word");
        }
        check(ids, ends);
        const Unlocked unlocked(ids.count() * 10);
        Interrupts interrupts;
        std::size_t count = 0, begin = 0;
        for (std::size_t text = 0; text < ends.count(); ++text) {
            // Checked when it is used: what is written may be the same memory.
            const std::size_t end = range_within(ids.count(), static_cast<std::int64_t>(begin), ends[text], "ends").end;
            for (std::size_t i = begin; i < end;) {
                const auto [best, length] = longest(ids.all().subspan(i, end - i));
                if (begins) {
                    (*begins)[count] = static_cast<std::int64_t>(i);
                }
                ids[count++] = best;
                i += length;
            }
            interrupts.worked(10 * (end - begin));
            begin = end;
            ends[text] = static_cast<std::int64_t>(count);
        }
        return count;
    }

private:
    using Run = std::pair<std::int64_t, std::int32_t>;  // the node of its parent, and its last word

    // The longest entry that some words begin with, and how many of them it has.
    std::pair<std::int32_t, std::size_t> longest(std::span<const std::int32_t> words) const {
        std::pair<std::int32_t, std::size_t> best{words[0], 1};
        std::int64_t node = words[0];
        for (std::size_t k = 1; node >= 0 && k < words.size() && words[k] >= 0; ++k) {
            const Run run{node, words[k]};
            const auto found = std::lower_bound(runs_.begin(), runs_.end(), run,
                                                [](const auto& known, const Run& due) { return known.first < due; });
            if (found == runs_.end() || found->first != run) {
                break;
            }
            node = found->second;
            if (entries_[static_cast<std::size_t>(node)] >= 0) {
                best = {entries_[static_cast<std::size_t>(node)], k + 1};
            }
        }
        return best;
    }

    void check(const Array<std::int32_t>& ids, const Array<std::int64_t>& ends) const {
        std::int64_t begin = 0;
        for (const std::int64_t end : ends.all()) {
            if (end < begin || end > static_cast<std::int64_t>(ids.count())) {
                refuse("ends must rise and lie within the ", ids.count(), " ids, but one of them is ", end);
            }
            begin = end;
        }
        for (const std::int32_t id : ids.all()) {
            if (id >= static_cast<std::int32_t>(n_words_)) {
                refuse("ids must be below ", n_words_, ", the number of words, but one of them is ", id);
            }
        }
    }

    std::size_t n_words_ = 0;
    std::vector<std::pair<Run, std::int64_t>> runs_;  // with the node of each
    std::vector<std::int32_t> entries_;               // the row that a node spells, or -1
};

}  // namespace

void bind_phrases(nb::module_& kernels) {
    nb::class_<PhraseTable>(kernels, "PhraseTable",
                            "A trie of runs of words.\n\n"
                            "The nodes are the words and then the runs: run i is that of the node ``parents[i]`` and of\n"
                            "``words[i]`` after it. ``entries`` has the row that each node spells, or -1.")
        .def(nb::init<nb::handle, nb::handle, nb::handle>(), argument("parents"), argument("words"),
             argument("entries"))
        .def("join", &PhraseTable::join, argument("ids"), argument("ends"), argument("begins") = nb::none(),
             "Replace words by the longest phrases, in ``ids`` and ``ends``; return how many units are left.\n\n"
             "The index of the first word of each unit is written to ``begins``, unless that is None.");
}

}  // namespace parasphere
