// Recurrences: tridiagonal systems by parallel cyclic reduction, recursive filters, and options
// priced by binomial trees.

constexpr int EQUATIONS = 256;

extern "C" __global__ __launch_bounds__(EQUATIONS)
void cyclic_reduction(const float* __restrict__ from_a, const float* __restrict__ from_b,
                      const float* __restrict__ from_c, const float* __restrict__ from_d,
                      float* __restrict__ to) {
    __shared__ float all_a[EQUATIONS], all_b[EQUATIONS], all_c[EQUATIONS], all_d[EQUATIONS];
    int row = threadIdx.x;
    int i = blockIdx.x * EQUATIONS + row;
    float a = from_a[i], b = from_b[i], c = from_c[i], d = from_d[i];
    for (int stride = 1; stride < EQUATIONS; stride *= 2) {
        all_a[row] = a;
        all_b[row] = b;
        all_c[row] = c;
        all_d[row] = d;
        __syncthreads();
        int left = max(row - stride, 0), right = min(row + stride, EQUATIONS - 1);
        float alpha = -a / all_b[left], gamma = -c / all_b[right];
        b += alpha * all_c[left] + gamma * all_a[right];
        d += alpha * all_d[left] + gamma * all_d[right];
        a = alpha * all_a[left];
        c = gamma * all_c[right];
        __syncthreads();
    }
    to[i] = d / b;
}

constexpr int SECTIONS = 4;

struct Biquad {
    float b0, b1, b2, a1, a2;
};

extern "C" __global__ __launch_bounds__(128)
void biquad(const Biquad* __restrict__ filters, const float* __restrict__ from,
            float* __restrict__ to, int frames, int channels) {
    int channel = blockIdx.x * blockDim.x + threadIdx.x;
    if (channel >= channels) return;
    Biquad sections[SECTIONS];
    float state0[SECTIONS] = {}, state1[SECTIONS] = {};
#pragma unroll
    for (int k = 0; k < SECTIONS; k++) sections[k] = filters[channel * SECTIONS + k];
    for (int frame = 0; frame < frames; frame++) {
        float sample = from[frame * channels + channel];
#pragma unroll
        for (int k = 0; k < SECTIONS; k++) {
            float result = sections[k].b0 * sample + state0[k];
            state0[k] = sections[k].b1 * sample - sections[k].a1 * result + state1[k];
            state1[k] = sections[k].b2 * sample - sections[k].a2 * result;
            sample = result;
        }
        to[frame * channels + channel] = sample;
    }
}

constexpr int STEPS = 255;

struct Contract {
    float price, strike, years;
};

extern "C" __global__ __launch_bounds__(STEPS + 1)
void binomial(const Contract* __restrict__ contracts, float rate, float volatility,
              float* __restrict__ to) {
    __shared__ float values[STEPS + 1];
    int node = threadIdx.x;
    Contract contract = contracts[blockIdx.x];
    float dt = contract.years / STEPS;
    float spread = volatility * sqrtf(dt);
    float up = expf(spread), down = expf(-spread);
    float growth = expf(rate * dt);
    float chance = (growth - down) / (up - down);
    float rising = chance / growth, falling = (1.0f - chance) / growth;
    float spot = contract.price * expf(spread * (2.0f * node - STEPS));
    float value = fmaxf(contract.strike - spot, 0.0f);
    for (int step = STEPS - 1; step >= 0; step--) {
        values[node] = value;
        __syncthreads();
        if (node <= step) {
            spot *= up;
            float kept = rising * values[node + 1] + falling * value;
            value = fmaxf(kept, contract.strike - spot);
        }
        __syncthreads();
    }
    if (node == 0) to[blockIdx.x] = value;
}
