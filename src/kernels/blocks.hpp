// Threads that share the blocks of a long loop. They are started for the loop and end with it: no thread outlives a
// call, so that a process can fork between two calls.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "common.hpp"

namespace parasphere {

// The number of loops that run at the moment, in all threads of the process. They share its cores.
inline std::atomic<std::size_t> running_loops{0};

inline std::size_t checked_threads(std::int64_t threads) {
    if (threads < 1 || threads > 1024) {
        refuse("threads must be from 1 to 1024, not ", threads);
    }
    return static_cast<std::size_t>(threads);
}

// The number of threads that a loop of this many blocks takes: starting one costs about as much as `least` nanoseconds
// of work, and `threads` are for all loops of the process together.
inline std::size_t threads_for(std::size_t blocks, std::size_t threads, std::size_t amount) {
    constexpr std::size_t least = 100'000;
    const std::size_t loops = std::max<std::size_t>(1, running_loops.load(std::memory_order_relaxed));
    const std::size_t worth = amount >= least ? blocks : blocks * amount / least;
    return std::clamp<std::size_t>(std::min(threads / loops, worth), 1, std::max<std::size_t>(1, blocks));
}

// Call work(block, worker) for each block below `blocks`, in several threads of which the calling one is worker 0; it
// also checks for Ctrl-C, without Python's lock. `amount` is the approximate time of one block in nanoseconds. Which
// worker computes a block, and when, is not defined: results must be written by block, and added in their order.
template <typename Work>
void for_blocks(std::size_t blocks, std::size_t threads, std::size_t amount, Interrupts& interrupts, Work&& work) {
    struct Running {
        Running() { ++running_loops; }
        ~Running() { --running_loops; }
    } running;
    const std::size_t workers = threads_for(blocks, threads, amount);
    if (workers == 1) {
        for (std::size_t block = 0; block < blocks; ++block) {
            work(block, std::size_t{0});
            interrupts.worked(amount);
        }
        return;
    }
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex failing;
    const auto run = [&](std::size_t worker) {
        try {
            for (std::size_t block = next++; block < blocks; block = next++) {
                work(block, worker);
                if (worker == 0) {
                    interrupts.worked(amount);
                }
            }
        } catch (...) {
            next = blocks;  // the other threads stop too
            const std::lock_guard lock(failing);
            if (!failure) {
                failure = std::current_exception();
            }
        }
    };
    std::vector<std::thread> others;
    try {
        others.reserve(workers - 1);
        for (std::size_t worker = 1; worker < workers; ++worker) {
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

}  // namespace parasphere
