// Kernels that compute more than they load: Mandelbrot's set, option prices, and a sieve for prime
// numbers.

constexpr unsigned STEPS = 256;

extern "C" __global__ __launch_bounds__(256)
void mandelbrot(double pixel, unsigned* __restrict__ to, int width, int height) {
    int px = blockIdx.x * blockDim.x + threadIdx.x;
    int py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px < width && py < height) {
        double cx = px * pixel - 2.0, cy = py * pixel - 1.5;
        double x = 0.0, y = 0.0;
        unsigned steps = 0;
        while (steps < STEPS && x * x + y * y <= 4.0) {
            double next = x * x - y * y + cx;
            y = 2.0 * x * y + cy;
            x = next;
            steps++;
        }
        to[py * width + px] = steps;
    }
}

constexpr float RATE = 0.02f;
constexpr float VOLATILITY = 0.30f;

__device__ __forceinline__ float cumulative(float d) {
    const float A1 = 0.31938153f, A2 = -0.356563782f, A3 = 1.781477937f, A4 = -1.821255978f,
                A5 = 1.330274429f;
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float sum = k * (A1 + k * (A2 + k * (A3 + k * (A4 + k * A5))));
    float tail = 0.3989423f * expf(-0.5f * d * d) * sum;
    return d > 0.0f ? 1.0f - tail : tail;
}

extern "C" __global__ __launch_bounds__(128)
void black_scholes(const float* __restrict__ price, const float* __restrict__ strike,
                   const float* __restrict__ years, float* __restrict__ call,
                   float* __restrict__ put, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float s = price[i], x = strike[i], t = years[i];
        float root = sqrtf(t);
        float d1 = (logf(s / x) + (RATE + 0.5f * VOLATILITY * VOLATILITY) * t) / (VOLATILITY * root);
        float d2 = d1 - VOLATILITY * root;
        float c1 = cumulative(d1), c2 = cumulative(d2);
        float discounted = x * expf(-RATE * t);
        call[i] = s * c1 - discounted * c2;
        put[i] = discounted * (1.0f - c2) - s * (1.0f - c1);
    }
}

constexpr int SEGMENT = 1 << 16;
constexpr int WORDS = SEGMENT / 32;
constexpr int SMALL = 64;
constexpr int THREADS = 256;

// The place of the first odd multiple in a segment, from the prime's square on.
__device__ __forceinline__ unsigned first_multiple(unsigned prime, unsigned start) {
    unsigned multiple = (start + prime - 1) / prime * prime;
    if (multiple % 2 == 0) multiple += prime;
    return (max(multiple, prime * prime) - start) / 2;
}

__device__ __forceinline__ void mark(unsigned* composite, unsigned first, unsigned step) {
    for (unsigned place = first; place < SEGMENT; place += step)
        atomicOr(&composite[place / 32], 1u << place % 32);
}

extern "C" __global__ __launch_bounds__(THREADS)
void prime_sieve(const unsigned* __restrict__ primes, int count, unsigned* __restrict__ to) {
    __shared__ unsigned composite[WORDS], sums[THREADS / 32];
    unsigned start = blockIdx.x * SEGMENT * 2;
    for (int i = threadIdx.x; i < WORDS; i += THREADS) composite[i] = 0;
    __syncthreads();
    int small = min(SMALL, count);
    for (int i = 0; i < small; i++) {
        unsigned prime = primes[i];
        mark(composite, first_multiple(prime, start) + threadIdx.x * prime, THREADS * prime);
    }
    for (int i = small + threadIdx.x; i < count; i += THREADS)
        mark(composite, first_multiple(primes[i], start), primes[i]);
    __syncthreads();
    unsigned sum = 0;
    for (int i = threadIdx.x; i < WORDS; i += THREADS) sum += __popc(~composite[i]);
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, distance);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < THREADS / 32; i++) sum += sums[i];
        to[blockIdx.x] = sum;
    }
}
