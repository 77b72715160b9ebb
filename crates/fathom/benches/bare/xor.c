// What XOR could be: reads `WHAT THREADS` and answers with the seconds that folding took.
//
// p: memory in pages as large as there are; s: memory in small pages; m: the file, mapped 16 MiB at a time;
// r: the file, read 2 MiB at a time; c: the same, and not folded.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { WINDOW = 16 << 20, BUFFER = 2 << 20, MOST = 1024 };

static const char *path;
static size_t size;
static char *large, *small;
static volatile uint64_t result;

struct part {
    pthread_t thread;
    char what;
    char *buffer;
    size_t start, end;
};

static uint64_t fold(const char *bytes, size_t length) {
    const uint64_t *words = (const uint64_t *)bytes;
    uint64_t lanes[16] = {0}, all = 0;
    for (size_t at = 0; at < length / 8; at += 16)
        for (int lane = 0; lane < 16; lane++) lanes[lane] ^= words[at + lane];
    for (int lane = 0; lane < 16; lane++) all ^= lanes[lane];
    return all;
}

static void *work(void *argument) {
    struct part *part = argument;
    uint64_t word = 0;
    if (part->what == 'p') word = fold(large + part->start, part->end - part->start);
    if (part->what == 's') word = fold(small + part->start, part->end - part->start);
    if (strchr("mrc", part->what)) {
        int file = open(path, O_RDONLY);
        size_t most = part->what == 'm' ? WINDOW : BUFFER;
        for (size_t at = part->start; at < part->end; at += most) {
            size_t length = part->end - at < most ? part->end - at : most;
            char *bytes = part->buffer;
            if (part->what == 'm') bytes = mmap(0, length, PROT_READ, MAP_SHARED, file, at);
            else if (pread(file, bytes, length, at) != (ssize_t)length) exit(1);
            if (bytes == MAP_FAILED) exit(1);
            if (part->what != 'c') word ^= fold(bytes, length);
            if (part->what == 'm') munmap(bytes, length);
        }
        close(file);
    }
    result ^= word;
    return 0;
}

static double seconds(char what, int threads, char *buffers) {
    static struct part parts[MOST];
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    for (int at = 0; at < threads; at++) {
        size_t share = size / threads / BUFFER * BUFFER;
        parts[at] = (struct part){.what = what, .buffer = buffers + (size_t)at * BUFFER, .start = at * share};
        parts[at].end = at == threads - 1 ? size : (at + 1) * share;
        if (at < threads - 1) pthread_create(&parts[at].thread, 0, work, &parts[at]);
        else work(&parts[at]);
    }
    for (int at = 0; at < threads - 1; at++) pthread_join(parts[at].thread, 0);
    clock_gettime(CLOCK_MONOTONIC, &after);
    return after.tv_sec - before.tv_sec + 1e-9 * (after.tv_nsec - before.tv_nsec);
}

static char *memory(size_t length, int advice) {
    char *bytes = mmap(0, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED) exit(1);
    madvise(bytes, length, advice);
    memset(bytes, 1, length);
    return bytes;
}

int main(int count, char **words) {
    char what;
    int threads;
    struct stat about;
    path = words[1];
    if (count != 2 || stat(path, &about)) return 1;
    size = about.st_size;
    large = memory(size, MADV_HUGEPAGE);
    small = memory(size, MADV_NOHUGEPAGE);
    char *buffers = memory((size_t)sysconf(_SC_NPROCESSORS_ONLN) * BUFFER, MADV_HUGEPAGE);
    while (scanf(" %c %d", &what, &threads) == 2) {
        printf("%.9f\n", seconds(what, threads, buffers));
        fflush(stdout);
    }
    return 0;
}
