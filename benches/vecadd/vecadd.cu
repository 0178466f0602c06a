// Times the vecadd of nvcc and that of this project's compiler in one process, on the same buffers.
// Build and run:  nvcc -O3 -arch=native vecadd.cu -lcuda -o vecadd && ./vecadd path/to/vecadd.ptx
// Prints one line of JSON for each: the median of 50 launches by events, after 10 to warm up. Each
// kernel runs with a thread for each element, and with one for eight.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <cuda_runtime.h>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        int status = (int)(call);                                                                  \
        if (status != 0) {                                                                         \
            std::fprintf(stderr, "%s: error %d\n", #call, status);                                 \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

__global__ void vecadd(const float *a, const float *b, float *c, unsigned long long n) {
    unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

__global__ void vecadd_strided(const float *a, const float *b, float *c, unsigned long long n) {
    unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
    for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) c[i] = a[i] + b[i];
}

template <typename Launch> static double median_ms(Launch launch) {
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    std::vector<float> times;
    for (int i = 0; i < 60; i++) {
        CHECK(cudaEventRecord(begin));
        launch();
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        if (i >= 10) times.push_back(ms);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

int main(int argc, char **argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: vecadd PTX\n");
        return 2;
    }
    const unsigned long long n = 1ull << 26;
    const unsigned block = 256, grid = (unsigned)((n + block - 1) / block);
    float *a, *b, *c;
    CHECK(cudaMalloc(&a, n * 4));
    CHECK(cudaMalloc(&b, n * 4));
    CHECK(cudaMalloc(&c, n * 4));
    std::vector<float> host(n);
    for (unsigned long long i = 0; i < n; i++) host[i] = (float)(i % 1000) * 0.5f;
    CHECK(cudaMemcpy(a, host.data(), n * 4, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(b, host.data(), n * 4, cudaMemcpyHostToDevice));

    CUmodule module;
    CUfunction function;
    CHECK(cuModuleLoad(&module, argv[1]));
    CHECK(cuModuleGetFunction(&function, module, "vecadd"));
    // Slices are pointer and length; the output is a struct of both.
    unsigned long long length = n;
    struct {
        float *pointer;
        unsigned long long length;
    } output = {c, n};
    void *arguments[] = {&a, &length, &b, &length, &output};

    auto check = [&](const char *who) {
        std::vector<float> out(n);
        CHECK(cudaMemcpy(out.data(), c, n * 4, cudaMemcpyDeviceToHost));
        for (unsigned long long i = 0; i < n; i++)
            if (out[i] != host[i] + host[i]) {
                std::fprintf(stderr, "%s: element %llu is wrong\n", who, i);
                std::exit(1);
            }
        CHECK(cudaMemset(c, 0xff, n * 4));
    };
    auto report = [&](const char *who, unsigned elements, double ms) {
        std::printf("{\"bench\": \"vecadd\", \"floats\": %llu, \"elements_per_thread\": %u, "
                    "\"compiler\": \"%s\", \"ms\": %.4f, \"gb_per_s\": %.1f}\n",
                    n, elements, who, ms, 3.0 * n * 4 / ms * 1e-6);
        check(who);
    };
    for (int round = 0; round < 3; round++) {
        report("nvcc", 1, median_ms([&] { vecadd<<<grid, block>>>(a, b, c, n); }));
        report("nvcc", 8, median_ms([&] { vecadd_strided<<<grid / 8, block>>>(a, b, c, n); }));
        for (unsigned elements : {1, 8})
            report("rustc_codegen_nvvm", elements, median_ms([&] {
                       CHECK(cuLaunchKernel(function, grid / elements, 1, 1, block, 1, 1, 0, 0,
                                            arguments, 0));
                   }));
    }
    return 0;
}
