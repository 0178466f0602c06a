// Many small Fourier transforms: a block of 128 threads for each 256 numbers. In each stage thread `i`
// combines the numbers `2 * i` and `2 * i + 1`, and its results are the numbers `i` and `i + 128`.

constexpr int POINTS = 256;
constexpr int STAGES = 8;

extern "C" __global__ __launch_bounds__(POINTS / 2)
void fft(const float2* __restrict__ from, const float2* __restrict__ turns,
         float2* __restrict__ to) {
    __shared__ float2 numbers[POINTS];
    int thread = threadIdx.x;
    from += size_t(blockIdx.x) * POINTS;
    to += size_t(blockIdx.x) * POINTS;
    for (int i = thread; i < POINTS; i += POINTS / 2) numbers[i] = from[__brev(i) >> (32 - STAGES)];
    for (int stage = 0; stage < STAGES; stage++) {
        float2 turn = turns[thread >> (STAGES - 1 - stage) << (STAGES - 1 - stage)];
        __syncthreads();
        float2 a = numbers[2 * thread], b = numbers[2 * thread + 1];
        b = make_float2(b.x * turn.x - b.y * turn.y, b.x * turn.y + b.y * turn.x);
        __syncthreads();
        numbers[thread] = make_float2(a.x + b.x, a.y + b.y);
        numbers[thread + POINTS / 2] = make_float2(a.x - b.x, a.y - b.y);
    }
    __syncthreads();
    for (int i = thread; i < POINTS; i += POINTS / 2) to[i] = numbers[i];
}
