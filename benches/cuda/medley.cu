#include <climits>
#include <cstdint>
#include <cuda_fp16.h>

#define FULL 0xffffffffu

__device__ __forceinline__ float block_scan(float v, float* slots, float& total) {
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int d = 1; d < 32; d <<= 1) {
        float o = __shfl_up_sync(FULL, v, d);
        if (lane >= d) v += o;
    }
    if (lane == 31) slots[warp] = v;
    __syncthreads();
    float sum = 0, before = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        if (i == warp) before = sum;
        sum += slots[i];
    }
    __syncthreads();
    total = sum;
    return before + v;
}

// infix_calc

__device__ __forceinline__ int precedence(uint8_t op) {
    switch (op) {
        case '+': case '-': return 1;
        case '*': case '/': case '%': return 2;
        default: return 0;
    }
}

__device__ __forceinline__ bool apply(uint8_t op, int64_t* values, int& len) {
    if (len < 2) return false;
    int64_t b = values[len - 1], a = values[len - 2], v;
    switch (op) {
        case '+': v = (int64_t)((uint64_t)a + (uint64_t)b); break;
        case '-': v = (int64_t)((uint64_t)a - (uint64_t)b); break;
        case '*': v = (int64_t)((uint64_t)a * (uint64_t)b); break;
        case '/': if (b == 0) return false; v = a / b; break;
        case '%': if (b == 0) return false; v = a % b; break;
        default: return false;
    }
    values[--len - 1] = v;
    return true;
}

extern "C" __global__ void __launch_bounds__(256)
infix_calc(const uint8_t* __restrict__ text, const uint32_t* __restrict__ starts,
           int64_t* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int64_t values[16];
    uint8_t ops[16];
    int depth = 0, pending = 0;
    int at = starts[i], end = starts[i + 1];
    bool valid = true;
    while (valid && at < end) {
        uint8_t c = text[at++];
        if (c == ' ') continue;
        if (c >= '0' && c <= '9') {
            int64_t v = c - '0';
            while (at < end && text[at] >= '0' && text[at] <= '9') v = v * 10 + (text[at++] - '0');
            valid = depth < 16;
            if (valid) values[depth++] = v;
        } else if (c == '(') {
            valid = pending < 16;
            if (valid) ops[pending++] = c;
        } else if (c == ')') {
            while (true) {
                if (pending == 0) { valid = false; break; }
                uint8_t op = ops[--pending];
                if (op == '(') break;
                if (!apply(op, values, depth)) { valid = false; break; }
            }
        } else if (precedence(c) > 0) {
            while (valid && pending > 0 && precedence(ops[pending - 1]) >= precedence(c))
                valid = apply(ops[--pending], values, depth);
            valid = valid && pending < 16;
            if (valid) ops[pending++] = c;
        } else {
            valid = false;
        }
    }
    while (valid && pending > 0) valid = apply(ops[--pending], values, depth);
    to[i] = valid && depth > 0 ? values[depth - 1] : LLONG_MIN;
}

// primer_melt

__constant__ float2 NEIGHBORS[16] = {
    {-7.9f, -22.2f}, {-8.4f, -22.4f}, {-7.8f, -21.0f}, {-7.2f, -20.4f},
    {-8.5f, -22.7f}, {-8.0f, -19.9f}, {-10.6f, -27.2f}, {-7.8f, -21.0f},
    {-8.2f, -22.2f}, {-9.8f, -24.4f}, {-8.0f, -19.9f}, {-8.4f, -22.4f},
    {-7.2f, -21.3f}, {-8.2f, -22.2f}, {-8.5f, -22.7f}, {-7.9f, -22.2f},
};

__device__ __forceinline__ int base_of(uint8_t c) {
    switch (c) {
        case 'A': return 0;
        case 'C': return 1;
        case 'G': return 2;
        case 'T': return 3;
        default: return -1;
    }
}

extern "C" __global__ void __launch_bounds__(256)
primer_melt(const uint8_t* __restrict__ bases, const uint32_t* __restrict__ starts,
            float log_concentration, float* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const uint8_t* p = bases + starts[i];
    int len = starts[i + 1] - starts[i];
    float h = 0.2f, s = -5.7f;
    int last = base_of(p[0]);
    for (int k = 1; k < len; k++) {
        int b = base_of(p[k]);
        if (b < 0 || last < 0) { to[i] = -1.0f; return; }
        float2 hs = NEIGHBORS[last * 4 + b];
        h += hs.x;
        s += hs.y;
        last = b;
    }
    float weak = 0;
    if (p[0] == 'A' || p[0] == 'T') weak += 1;
    if (p[len - 1] == 'A' || p[len - 1] == 'T') weak += 1;
    h += 2.2f * weak;
    s += 6.9f * weak;
    float melting = 1000.0f * h / (s + 1.987f * log_concentration) - 273.15f;
    int longest = 1, run = 1;
    for (int k = 1; k < len; k++) {
        run = p[k] == p[k - 1] ? run + 1 : 1;
        longest = max(longest, run);
    }
    int folds = 0;
    for (int gap = 3; gap < len / 2; gap++) {
        int count = 0;
        while (count < len - gap) {
            if (base_of(p[count]) + base_of(p[len - 1 - gap - count]) != 3) break;
            count++;
        }
        folds = max(folds, count);
    }
    to[i] = melting - 0.5f * max(longest - 3, 0) - 0.75f * folds;
}

// codon_counts

__device__ __forceinline__ int digit_of(uint8_t c) {
    switch (c) {
        case 'T': return 0;
        case 'C': return 1;
        case 'A': return 2;
        case 'G': return 3;
        default: return -1;
    }
}

extern "C" __global__ void __launch_bounds__(256)
codon_counts(const uint8_t* __restrict__ bases, const uint32_t* __restrict__ starts,
             uint32_t* __restrict__ total, int genes) {
    __shared__ uint32_t counts[64];
    if (threadIdx.x < 64) counts[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < genes; i += gridDim.x * blockDim.x) {
        int end = starts[i + 1];
        for (int at = starts[i]; at + 3 <= end; at += 3) {
            int a = digit_of(bases[at]), b = digit_of(bases[at + 1]), c = digit_of(bases[at + 2]);
            if (a < 0 || b < 0 || c < 0) break;
            int codon = a * 16 + b * 4 + c;
            if (codon == 10 || codon == 11 || codon == 14) break;
            atomicAdd(&counts[codon], 1u);
        }
    }
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&total[threadIdx.x], counts[threadIdx.x]);
}

// arc_resample

extern "C" __global__ void __launch_bounds__(256)
arc_resample(const float* __restrict__ x, const float* __restrict__ y,
             const uint32_t* __restrict__ starts, float2* __restrict__ to) {
    __shared__ float along[1024];
    __shared__ float slots[8];
    int t = threadIdx.x;
    int start = starts[blockIdx.x], n = starts[blockIdx.x + 1] - start;
    x += start;
    y += start;
    float length = 0;
    for (int base = 0; base < n; base += 256) {
        int i = base + t;
        float segment = 0;
        if (i > 0 && i < n) segment = hypotf(x[i] - x[i - 1], y[i] - y[i - 1]);
        float total;
        float sum = block_scan(segment, slots, total);
        along[i] = length + sum;
        length += total;
    }
    __syncthreads();
    float goal = length * t / 255.0f;
    int low = 0, high = n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (along[middle] < goal) low = middle + 1;
        else high = middle;
    }
    int i = min(max(low, 1), n - 1);
    float before = along[i - 1];
    float part = fminf(fmaxf((goal - before) / fmaxf(along[i] - before, 1e-12f), 0.0f), 1.0f);
    to[blockIdx.x * 256 + t] =
        make_float2(x[i - 1] + part * (x[i] - x[i - 1]), y[i - 1] + part * (y[i] - y[i - 1]));
}

// blake2b

__constant__ uint64_t BLAKE_IV[8] = {
    0x6a09e667f3bcc908ull, 0xbb67ae8584caa73bull, 0x3c6ef372fe94f82bull, 0xa54ff53a5f1d36f1ull,
    0x510e527fade682d1ull, 0x9b05688c2b3e6c1full, 0x1f83d9abfb41bd6bull, 0x5be0cd19137e2179ull,
};

__device__ __forceinline__ uint64_t rotr(uint64_t x, int n) { return x >> n | x << (64 - n); }

#define G(a, b, c, d, x, y)             \
    v[a] = v[a] + v[b] + (x);           \
    v[d] = rotr(v[d] ^ v[a], 32);       \
    v[c] = v[c] + v[d];                 \
    v[b] = rotr(v[b] ^ v[c], 24);       \
    v[a] = v[a] + v[b] + (y);           \
    v[d] = rotr(v[d] ^ v[a], 16);       \
    v[c] = v[c] + v[d];                 \
    v[b] = rotr(v[b] ^ v[c], 63);

extern "C" __global__ void __launch_bounds__(256)
blake2b(const uint64_t* __restrict__ words, uint64_t* __restrict__ to, int n) {
    const uint8_t SIGMA[10][16] = {
        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
        {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
        {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
        {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
        {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
        {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
        {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
        {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
        {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
        {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
    };
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    words += i * 24;
    uint64_t h[8];
#pragma unroll
    for (int k = 0; k < 8; k++) h[k] = BLAKE_IV[k];
    h[0] ^= 0x01010000 ^ 32;
    for (int part = 0; part < 2; part++) {
        uint64_t m[16], v[16];
#pragma unroll
        for (int k = 0; k < 16; k++) m[k] = part * 16 + k < 24 ? words[part * 16 + k] : 0;
#pragma unroll
        for (int k = 0; k < 8; k++) {
            v[k] = h[k];
            v[k + 8] = BLAKE_IV[k];
        }
        v[12] ^= part == 0 ? 128 : 192;
        if (part == 1) v[14] = ~v[14];
#pragma unroll
        for (int round = 0; round < 12; round++) {
            const uint8_t* s = SIGMA[round % 10];
            G(0, 4, 8, 12, m[s[0]], m[s[1]])
            G(1, 5, 9, 13, m[s[2]], m[s[3]])
            G(2, 6, 10, 14, m[s[4]], m[s[5]])
            G(3, 7, 11, 15, m[s[6]], m[s[7]])
            G(0, 5, 10, 15, m[s[8]], m[s[9]])
            G(1, 6, 11, 12, m[s[10]], m[s[11]])
            G(2, 7, 8, 13, m[s[12]], m[s[13]])
            G(3, 4, 9, 14, m[s[14]], m[s[15]])
        }
#pragma unroll
        for (int k = 0; k < 8; k++) h[k] ^= v[k] ^ v[k + 8];
    }
#pragma unroll
    for (int k = 0; k < 4; k++) to[i * 4 + k] = h[k];
}

// qoi_strips

extern "C" __global__ void __launch_bounds__(128)
qoi_strips(const uint8_t* __restrict__ bytes, const uint32_t* __restrict__ starts,
           uint32_t* __restrict__ to, int strips, int pixels) {
    int strip = blockIdx.x * blockDim.x + threadIdx.x;
    if (strip >= strips) return;
    int at = starts[strip], end = starts[strip + 1];
    uint32_t seen[64] = {};
    uint32_t r = 0, g = 0, b = 0, a = 255;
    int done = 0;
    while (at < end && done < pixels) {
        uint32_t tag = bytes[at++];
        int run = 1;
        if (tag == 0xfe || tag == 0xff) {
            r = bytes[at];
            g = bytes[at + 1];
            b = bytes[at + 2];
            at += 3;
            if (tag == 0xff) a = bytes[at++];
        } else if (tag < 0x40) {
            uint32_t p = seen[tag];
            r = p & 255;
            g = p >> 8 & 255;
            b = p >> 16 & 255;
            a = p >> 24;
        } else if (tag < 0x80) {
            r = (r + (tag >> 4 & 3) - 2) & 255;
            g = (g + (tag >> 2 & 3) - 2) & 255;
            b = (b + (tag & 3) - 2) & 255;
        } else if (tag < 0xc0) {
            uint32_t second = bytes[at++];
            uint32_t green = (tag & 0x3f) - 32;
            r = (r + green + (second >> 4) - 8) & 255;
            g = (g + green) & 255;
            b = (b + green + (second & 15) - 8) & 255;
        } else {
            run = (tag & 0x3f) + 1;
        }
        uint32_t p = r | g << 8 | b << 16 | a << 24;
        seen[(3 * r + 5 * g + 7 * b + 11 * a) % 64] = p;
        for (; run > 0 && done < pixels; run--) to[done++ * strips + strip] = p;
    }
    for (; done < pixels; done++) to[done * strips + strip] = 0;
}

// order_book

template <bool BUYERS>
struct Side {
    uint32_t prices[8], sizes[8];
    int len = 0;

    __device__ static bool better(uint32_t a, uint32_t b) { return BUYERS ? a > b : a < b; }

    __device__ void remove(int place) {
        len--;
        for (int k = place; k < len; k++) {
            prices[k] = prices[k + 1];
            sizes[k] = sizes[k + 1];
        }
    }

    __device__ void cancel(uint32_t price) {
        for (int k = 0; k < len; k++) {
            if (prices[k] == price) {
                remove(k);
                break;
            }
        }
    }

    __device__ void add(uint32_t price, uint32_t size) {
        int place = 0;
        while (place < len && better(prices[place], price)) place++;
        if (place < len && prices[place] == price) {
            sizes[place] += size;
            return;
        }
        if (place == 8) return;
        len = min(len + 1, 8);
        for (int k = len - 1; k > place; k--) {
            prices[k] = prices[k - 1];
            sizes[k] = sizes[k - 1];
        }
        prices[place] = price;
        sizes[place] = size;
    }

    __device__ uint32_t take(uint32_t size, bool limited, uint32_t limit, uint32_t& volume,
                             uint32_t& value) {
        while (len > 0 && size > 0) {
            if (limited && better(limit, prices[0])) break;
            uint32_t traded = min(size, sizes[0]);
            volume += traded;
            value += traded * prices[0];
            size -= traded;
            sizes[0] -= traded;
            if (sizes[0] == 0) remove(0);
        }
        return size;
    }
};

extern "C" __global__ void __launch_bounds__(128)
order_book(const uint8_t* __restrict__ kinds, const uint16_t* __restrict__ prices,
           const uint32_t* __restrict__ sizes, uint4* __restrict__ to, int stocks, int orders) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= stocks) return;
    Side<true> buyers;
    Side<false> sellers;
    uint32_t volume = 0, value = 0;
    for (int k = 0; k < orders; k++) {
        int at = k * stocks + i;
        uint32_t price = prices[at], size = sizes[at], rest;
        switch (kinds[at]) {
            case 0:
                rest = sellers.take(size, true, price, volume, value);
                if (rest > 0) buyers.add(price, rest);
                break;
            case 1:
                rest = buyers.take(size, true, price, volume, value);
                if (rest > 0) sellers.add(price, rest);
                break;
            case 2: sellers.take(size, false, 0, volume, value); break;
            case 3: buyers.take(size, false, 0, volume, value); break;
            case 4:
                buyers.cancel(price);
                sellers.cancel(price);
                break;
        }
    }
    to[i] = make_uint4(volume, value, buyers.len > 0 ? buyers.prices[0] : 0,
                       sellers.len > 0 ? sellers.prices[0] : 0);
}

// geomag_field

#define DEGREE 10

struct Coefficient {
    double g, h, factor;
};

extern "C" __global__ void __launch_bounds__(256)
geomag_field(const double* __restrict__ places, const Coefficient* __restrict__ coefficients,
             double* __restrict__ field, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    double s, c, step_sin, step_cos;
    sincos(places[3 * i], &s, &c);
    sincos(places[3 * i + 1], &step_sin, &step_cos);
    double ratio = 1.0 / places[3 * i + 2];
    double powers[DEGREE + 1];
    powers[0] = ratio * ratio;
    for (int n = 1; n <= DEGREE; n++) powers[n] = powers[n - 1] * ratio;
    double sin_m = 0, cos_m = 1, diagonal = 1, slope = 0, north = 0, east = 0, down = 0;
    int k = 0;
    for (int m = 0; m <= DEGREE; m++) {
        double p = diagonal, dp = slope, p1 = 0, dp1 = 0;
        for (int n = m; n <= DEGREE; n++) {
            Coefficient q = coefficients[k++];
            double wave = q.g * cos_m + q.h * sin_m;
            north += powers[n] * wave * dp;
            east += powers[n] * m * (q.g * sin_m - q.h * cos_m) * p;
            down -= powers[n] * (n + 1) * wave * p;
            double p2 = c * p - q.factor * p1;
            double dp2 = c * dp - s * p - q.factor * dp1;
            p1 = p;
            dp1 = dp;
            p = p2;
            dp = dp2;
        }
        slope = s * slope + c * diagonal;
        diagonal *= s;
        double next = sin_m * step_cos + cos_m * step_sin;
        cos_m = cos_m * step_cos - sin_m * step_sin;
        sin_m = next;
    }
    field[3 * i] = north;
    field[3 * i + 1] = east / s;
    field[3 * i + 2] = down;
}

// weighted_quantile

extern "C" __global__ void __launch_bounds__(256)
weighted_quantile(const float* __restrict__ values, const uint32_t* __restrict__ weights,
                  const uint32_t* __restrict__ starts, float* __restrict__ to) {
    __shared__ uint32_t slots[8];
    int t = threadIdx.x, lane = t & 31, warp = t >> 5, row = blockIdx.x;
    int start = starts[row], n = starts[row + 1] - start;
    values += start;
    weights += start;
    uint32_t own = 0;
    for (int i = t; i < n; i += 256) own += weights[i];
    own = __reduce_add_sync(FULL, own);
    if (lane == 0) slots[warp] = own;
    __syncthreads();
    uint32_t total = 0;
    for (int k = 0; k < 8; k++) total += slots[k];
    __syncthreads();
    uint32_t goals[3] = {(uint32_t)((uint64_t)total * 25 / 100),
                         (uint32_t)((uint64_t)total * 50 / 100),
                         (uint32_t)((uint64_t)total * 90 / 100)};
    uint32_t carry = 0;
    for (int base = 0; base < n; base += 256) {
        int i = base + t;
        uint32_t weight = i < n ? weights[i] : 0, sum = weight;
        for (int d = 1; d < 32; d <<= 1) {
            uint32_t o = __shfl_up_sync(FULL, sum, d);
            if (lane >= d) sum += o;
        }
        if (lane == 31) slots[warp] = sum;
        __syncthreads();
        uint32_t all = 0, lower = 0;
#pragma unroll
        for (int k = 0; k < 8; k++) {
            if (k == warp) lower = all;
            all += slots[k];
        }
        __syncthreads();
        uint32_t before = carry + lower + sum - weight;
#pragma unroll
        for (int k = 0; k < 3; k++)
            if (goals[k] >= before && goals[k] < before + weight) to[row * 3 + k] = values[i];
        carry += all;
        if (goals[2] < carry) break;
    }
}

// traffic_ring

#define CARS 128
#define CELLS 700u

__device__ __forceinline__ uint32_t noise(uint32_t seed) {
    uint32_t x = (seed ^ 61 ^ (seed >> 16)) * 9;
    x = (x ^ (x >> 4)) * 0x27d4eb2du;
    return x ^ (x >> 15);
}

extern "C" __global__ void __launch_bounds__(128)
traffic_ring(const uint32_t* __restrict__ first, uint32_t steps, uint32_t* __restrict__ to) {
    __shared__ uint32_t cells[CARS];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    uint32_t cell = first[i], speed = 0, driven = 0;
    for (uint32_t step = 0; step < steps; step++) {
        cells[t] = cell;
        __syncthreads();
        uint32_t next = cells[(t + 1) % CARS];
        __syncthreads();
        uint32_t gap = (next + CELLS - cell) % CELLS - 1;
        speed = min(min(speed + 1, 5u), gap);
        if (noise(i * 1024 + step) % 4 == 0 && speed > 0) speed--;
        driven += speed;
        cell = (cell + speed) % CELLS;
    }
    to[i] = driven;
}

// canny_edges

extern "C" __global__ void __launch_bounds__(256)
canny_edges(const uint8_t* __restrict__ image, int low, int high, uint8_t* __restrict__ to,
            int width, int height) {
    __shared__ uint8_t pixels[12][36];
    __shared__ short2 gradients[10][34];
    int tx = threadIdx.x, ty = threadIdx.y, t = ty * 32 + tx;
    int x0 = blockIdx.x * 32, y0 = blockIdx.y * 8;
    for (int k = t; k < 432; k += 256) {
        int x = min(max(x0 + k % 36 - 2, 0), width - 1);
        int y = min(max(y0 + k / 36 - 2, 0), height - 1);
        pixels[k / 36][k % 36] = image[y * width + x];
    }
    __syncthreads();
    for (int k = t; k < 340; k += 256) {
        int x = k % 34, y = k / 34;
#define AT(dx, dy) (int)pixels[y + dy][x + dx]
        gradients[y][x] = make_short2(
            AT(2, 0) + 2 * AT(2, 1) + AT(2, 2) - AT(0, 0) - 2 * AT(0, 1) - AT(0, 2),
            AT(0, 2) + 2 * AT(1, 2) + AT(2, 2) - AT(0, 0) - 2 * AT(1, 0) - AT(2, 0));
    }
    __syncthreads();
    int x = x0 + tx, y = y0 + ty;
    if (x >= width || y >= height) return;
    auto strength = [&](int tx, int ty) {
        short2 g = gradients[ty + 1][tx + 1];
        return abs(g.x) + abs(g.y);
    };
    short2 g = gradients[ty + 1][tx + 1];
    int gx = g.x, gy = g.y, dx, dy;
    if (5 * abs(gy) < 2 * abs(gx)) {
        dx = 1, dy = 0;
    } else if (5 * abs(gx) < 2 * abs(gy)) {
        dx = 0, dy = 1;
    } else if ((gx < 0) == (gy < 0)) {
        dx = 1, dy = 1;
    } else {
        dx = -1, dy = 1;
    }
    int own = abs(gx) + abs(gy);
    uint8_t result = 0;
    if (own > strength(tx - dx, ty - dy) && own >= strength(tx + dx, ty + dy))
        result = own >= high ? 255 : own >= low ? 128 : 0;
    to[y * width + x] = result;
}

// tetris_place

__constant__ uint16_t SHAPES[7][4][4] = {
    {{15, 0, 0, 0}, {1, 1, 1, 1}, {15, 0, 0, 0}, {1, 1, 1, 1}},
    {{3, 3, 0, 0}, {3, 3, 0, 0}, {3, 3, 0, 0}, {3, 3, 0, 0}},
    {{7, 2, 0, 0}, {1, 3, 1, 0}, {2, 7, 0, 0}, {2, 3, 2, 0}},
    {{3, 6, 0, 0}, {2, 3, 1, 0}, {3, 6, 0, 0}, {2, 3, 1, 0}},
    {{6, 3, 0, 0}, {1, 3, 2, 0}, {6, 3, 0, 0}, {1, 3, 2, 0}},
    {{7, 1, 0, 0}, {1, 1, 3, 0}, {4, 7, 0, 0}, {3, 2, 2, 0}},
    {{7, 4, 0, 0}, {3, 1, 1, 0}, {1, 7, 0, 0}, {2, 2, 3, 0}},
};

extern "C" __global__ void __launch_bounds__(128)
tetris_place(const uint16_t* __restrict__ boards, const uint8_t* __restrict__ kinds,
             int2* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t board[24];
    for (int y = 0; y < 20; y++) board[y] = boards[i * 20 + y];
    for (int y = 20; y < 24; y++) board[y] = 0;
    int best = INT_MIN, place = -1, kind = kinds[i];
    for (int rotation = 0; rotation < 4; rotation++) {
        const uint16_t* shape = SHAPES[kind][rotation];
        int width = 32 - __clz(shape[0] | shape[1] | shape[2] | shape[3]);
        for (int column = 0; column <= 10 - width; column++) {
            uint32_t a = shape[0] << column, b = shape[1] << column, c = shape[2] << column,
                     d = shape[3] << column;
            int y = 21;
            while (y > 0 && !(board[y - 1] & a | board[y] & b | board[y + 1] & c | board[y + 2] & d))
                y--;
            if (y >= 20 || b && y + 1 >= 20 || c && y + 2 >= 20 || d && y + 3 >= 20) continue;
            int full = 0, bad = 0;
            uint32_t covered = 0;
            for (int k = 19; k >= 0; k--) {
                uint32_t row = board[k];
                if (k >= y && k < y + 4) row |= k == y ? a : k == y + 1 ? b : k == y + 2 ? c : d;
                if (row == 0x3ff) {
                    full++;
                    continue;
                }
                uint32_t holes = covered & ~row;
                covered |= row;
                uint32_t steps = (covered ^ covered >> 1) & 0x1ff;
                bad += 51 * __popc(covered) + 36 * __popc(holes) + 18 * __popc(steps);
            }
            int score = 76 * full - bad;
            if (score >= best) {
                best = score;
                place = 16 * rotation + column;
            }
        }
    }
    to[i] = make_int2(place, best);
}

// ip6_country

typedef unsigned __int128 u128;

__device__ __forceinline__ bool hex_groups(const uint8_t* text, int at, int end, u128& value,
                                           int& count) {
    value = 0;
    count = 0;
    if (at == end) return true;
    int digits = 0;
    uint32_t group = 0;
    for (int k = at; k <= end; k++) {
        uint8_t c = k < end ? text[k] : ':';
        if (c == ':') {
            if (digits == 0 || digits > 4) return false;
            value = value << 16 | group;
            count++;
            digits = 0;
            group = 0;
            continue;
        }
        uint32_t digit;
        if (c >= '0' && c <= '9') digit = c - '0';
        else if (c >= 'a' && c <= 'f') digit = c - 'a' + 10;
        else if (c >= 'A' && c <= 'F') digit = c - 'A' + 10;
        else return false;
        group = group << 4 | digit;
        digits++;
    }
    return true;
}

extern "C" __global__ void __launch_bounds__(256)
ip6_country(const uint8_t* __restrict__ text, const uint32_t* __restrict__ starts,
            const u128* __restrict__ first, const u128* __restrict__ last,
            const uint16_t* __restrict__ country, int ranges, uint16_t* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    text += starts[i];
    int len = starts[i + 1] - starts[i];
    int gap = len;
    for (int k = 0; k + 1 < len; k++) {
        if (text[k] == ':' && text[k + 1] == ':') {
            gap = k;
            break;
        }
    }
    u128 address;
    int before;
    bool valid = hex_groups(text, 0, gap, address, before);
    if (gap == len) {
        valid = valid && before == 8;
    } else if (valid) {
        u128 low;
        int after;
        valid = hex_groups(text, gap + 2, len, low, after) && before + after <= 7;
        if (valid) address = (before > 0 ? address << (16 * (8 - before)) : 0) | low;
    }
    if (!valid) {
        to[i] = 0xffff;
        return;
    }
    int a = 0, b = ranges;
    while (a < b) {
        int middle = (a + b) / 2;
        if (first[middle] <= address) a = middle + 1;
        else b = middle;
    }
    to[i] = a > 0 && address <= last[a - 1] ? country[a - 1] : 0;
}

// imu_preint

template <typename T, int R, int C>
struct Matrix {
    T v[R][C];

    __device__ static Matrix diagonal(T x) {
        Matrix m;
        for (int i = 0; i < R; i++)
            for (int j = 0; j < C; j++) m.v[i][j] = i == j ? x : T(0);
        return m;
    }
    __device__ Matrix<T, C, R> transposed() const {
        Matrix<T, C, R> m;
        for (int i = 0; i < C; i++)
            for (int j = 0; j < R; j++) m.v[i][j] = v[j][i];
        return m;
    }
    __device__ T trace() const {
        T sum = 0;
        for (int i = 0; i < R; i++) sum += v[i][i];
        return sum;
    }
};

template <typename T, int R, int K, int C>
__device__ Matrix<T, R, C> operator*(const Matrix<T, R, K>& a, const Matrix<T, K, C>& b) {
    Matrix<T, R, C> m;
    for (int i = 0; i < R; i++)
        for (int j = 0; j < C; j++) {
            T sum = 0;
            for (int k = 0; k < K; k++) sum += a.v[i][k] * b.v[k][j];
            m.v[i][j] = sum;
        }
    return m;
}

template <typename T, int R, int C>
__device__ Matrix<T, R, C> operator*(const Matrix<T, R, C>& a, T b) {
    Matrix<T, R, C> m;
    for (int i = 0; i < R; i++)
        for (int j = 0; j < C; j++) m.v[i][j] = a.v[i][j] * b;
    return m;
}

template <typename T, int R, int C>
__device__ Matrix<T, R, C> operator+(const Matrix<T, R, C>& a, const Matrix<T, R, C>& b) {
    Matrix<T, R, C> m;
    for (int i = 0; i < R; i++)
        for (int j = 0; j < C; j++) m.v[i][j] = a.v[i][j] + b.v[i][j];
    return m;
}

template <typename T, int R, int C>
__device__ Matrix<T, R, C> operator-(const Matrix<T, R, C>& a, const Matrix<T, R, C>& b) {
    Matrix<T, R, C> m;
    for (int i = 0; i < R; i++)
        for (int j = 0; j < C; j++) m.v[i][j] = a.v[i][j] - b.v[i][j];
    return m;
}

typedef Matrix<float, 3, 3> M3;
typedef Matrix<float, 3, 1> V3;

__device__ __forceinline__ M3 skew(const V3& v) {
    float x = v.v[0][0], y = v.v[1][0], z = v.v[2][0];
    return {{{0, -z, y}, {z, 0, -x}, {-y, x, 0}}};
}

extern "C" __global__ void __launch_bounds__(128)
imu_preint(const float3* __restrict__ gyro, const float3* __restrict__ acceleration, float bx,
           float by, float bz, float dt, float* __restrict__ to, int windows, int steps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= windows) return;
    M3 r = M3::diagonal(1), jr = M3::diagonal(0), jv = jr;
    V3 v = V3::diagonal(0), p = v;
    for (int k = 0; k < steps; k++) {
        float3 g = gyro[k * windows + i], f = acceleration[k * windows + i];
        V3 turn = {{{(g.x - bx) * dt}, {(g.y - by) * dt}, {(g.z - bz) * dt}}};
        V3 a = {{{f.x}, {f.y}, {f.z}}};
        float square = (turn.transposed() * turn).v[0][0];
        float c0, c1, c2;
        if (square < 1e-4f) {
            c0 = 1 - square / 6;
            c1 = 0.5f - square / 24;
            c2 = 1.0f / 6 - square / 120;
        } else {
            float angle = sqrtf(square), s, c;
            sincosf(angle, &s, &c);
            c0 = s / angle;
            c1 = (1 - c) / square;
            c2 = (angle - s) / (square * angle);
        }
        M3 w = skew(turn), ww = w * w;
        M3 step = M3::diagonal(1) + w * c0 + ww * c1;
        M3 right = M3::diagonal(1) - w * c1 + ww * c2;
        V3 force = r * a;
        p = p + v * dt + force * (0.5f * dt * dt);
        v = v + force * dt;
        jv = jv - (r * skew(a) * jr) * dt;
        jr = step.transposed() * jr - right * dt;
        r = r * step;
    }
    to += 8 * i;
    for (int q = 0; q < 3; q++) {
        to[q] = p.v[q][0];
        to[3 + q] = v.v[q][0];
    }
    to[6] = r.trace();
    to[7] = jv.trace();
}

// best_split

struct Split {
    float gain;
    uint32_t bin;
};

__device__ __forceinline__ Split better(Split a, Split b) {
    return b.gain > a.gain || (b.gain == a.gain && b.bin < a.bin) ? b : a;
}

__device__ __forceinline__ float impurity(uint32_t negative, uint32_t positive) {
    float a = negative, b = positive;
    return a + b == 0 ? 0 : 2 * a * b / (a + b);
}

extern "C" __global__ void __launch_bounds__(256)
best_split(const uint8_t* __restrict__ features, const uint8_t* __restrict__ labels,
           float2* __restrict__ to, int count, int samples) {
    __shared__ uint32_t counts[512];
    __shared__ uint2 slots[8];
    __shared__ Split splits[8];
    int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    for (int feature = blockIdx.x; feature < count; feature += gridDim.x) {
        counts[t] = 0;
        counts[t + 256] = 0;
        __syncthreads();
        const uint8_t* row = features + feature * samples;
        for (int i = t; i < samples; i += 256) atomicAdd(&counts[2 * row[i] + (labels[i] & 1)], 1u);
        __syncthreads();
        uint2 left = make_uint2(counts[2 * t], counts[2 * t + 1]);
        for (int d = 1; d < 32; d <<= 1) {
            uint32_t a = __shfl_up_sync(FULL, left.x, d), b = __shfl_up_sync(FULL, left.y, d);
            if (lane >= d) {
                left.x += a;
                left.y += b;
            }
        }
        if (lane == 31) slots[warp] = left;
        __syncthreads();
        uint2 all = make_uint2(0, 0);
#pragma unroll
        for (int k = 0; k < 8; k++) {
            uint2 s = slots[k];
            if (k < warp) {
                left.x += s.x;
                left.y += s.y;
            }
            all.x += s.x;
            all.y += s.y;
        }
        float gain = impurity(all.x, all.y) - impurity(left.x, left.y) -
                     impurity(all.x - left.x, all.y - left.y);
        Split best = {gain, (uint32_t)t};
        for (int d = 16; d > 0; d >>= 1)
            best = better(best, {__shfl_xor_sync(FULL, best.gain, d),
                                 __shfl_xor_sync(FULL, best.bin, d)});
        if (lane == 0) splits[warp] = best;
        __syncthreads();
        if (t == 0) {
            for (int k = 1; k < 8; k++) best = better(best, splits[k]);
            to[feature] = make_float2(best.gain, best.bin);
        }
    }
}

// jp_color

extern "C" __global__ void __launch_bounds__(256)
jp_color(const uint32_t* __restrict__ starts, const uint32_t* __restrict__ neighbors,
         const uint8_t* __restrict__ colors, uint8_t* __restrict__ to, int nodes) {
    int node = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (node >= nodes) return;
    int lane = threadIdx.x & 31;
    uint8_t color = colors[node];
    if (color == 0) {
        uint32_t priority = noise(node);
        uint64_t used = 1;
        bool wins = true;
        int end = starts[node + 1];
        for (int k = starts[node] + lane; k < end; k += 32) {
            uint32_t other = neighbors[k];
            uint8_t other_color = colors[other];
            if (other_color == 0) {
                uint32_t rival = noise(other);
                if (rival > priority || (rival == priority && other > node)) wins = false;
            } else {
                used |= 1ull << (other_color & 63);
            }
        }
        if (__all_sync(FULL, wins)) {
            uint32_t low = __reduce_or_sync(FULL, (uint32_t)used);
            uint32_t high = __reduce_or_sync(FULL, (uint32_t)(used >> 32));
            color = __ffsll(~((uint64_t)high << 32 | low)) - 1;
        }
    }
    if (lane == 0) to[node] = color;
}

// scan_pose

typedef Matrix<double, 3, 3> D3;

extern "C" __global__ void __launch_bounds__(128)
scan_pose(const double* __restrict__ px, const double* __restrict__ py,
          const double* __restrict__ wx, const double* __restrict__ wy,
          const double* __restrict__ nx, const double* __restrict__ ny, int matches,
          const double* __restrict__ guesses, double* __restrict__ poses, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double x = guesses[3 * i], y = guesses[3 * i + 1], angle = guesses[3 * i + 2];
    for (int iteration = 0; iteration < 6; iteration++) {
        double s, c;
        sincos(angle, &s, &c);
        D3 h = D3::diagonal(0);
        double g[3] = {0, 0, 0};
        for (int k = 0; k < matches; k++) {
            double a = px[k], b = py[k], u = nx[k], v = ny[k];
            double error = u * (c * a - s * b + x - wx[k]) + v * (s * a + c * b + y - wy[k]);
            double row[3] = {u, v, u * (-s * a - c * b) + v * (c * a - s * b)};
            for (int p = 0; p < 3; p++) {
                for (int q = 0; q < 3; q++) h.v[p][q] += row[p] * row[q];
                g[p] += row[p] * error;
            }
        }
        double m[3][3];
        for (int p = 0; p < 3; p++)
            for (int q = 0; q < 3; q++)
                m[p][q] = h.v[(p + 1) % 3][(q + 1) % 3] * h.v[(p + 2) % 3][(q + 2) % 3] -
                          h.v[(p + 1) % 3][(q + 2) % 3] * h.v[(p + 2) % 3][(q + 1) % 3];
        double determinant = h.v[0][0] * m[0][0] + h.v[0][1] * m[0][1] + h.v[0][2] * m[0][2];
        if (fabs(determinant) <= 1e-12) break;
        double step[3];
        for (int p = 0; p < 3; p++)
            step[p] = -(m[0][p] * g[0] + m[1][p] * g[1] + m[2][p] * g[2]) / determinant;
        x += step[0];
        y += step[1];
        angle += step[2];
        if (fabs(step[0]) + fabs(step[1]) + fabs(step[2]) < 1e-9) break;
    }
    poses[3 * i] = x;
    poses[3 * i + 1] = y;
    poses[3 * i + 2] = angle;
}

// nfa_warp

extern "C" __global__ void __launch_bounds__(256)
nfa_warp(const uint8_t* __restrict__ texts, int length, const uint32_t* __restrict__ masks,
         const uint32_t* __restrict__ first, const uint32_t* __restrict__ last,
         uint32_t* __restrict__ to, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (i >= n) return;
    int lane = threadIdx.x & 31;
    const uint8_t* text = texts + i * length;
    uint32_t begin = first[lane], end = last[lane], states = 0, matches = 0;
    for (int k = 0; k < length; k++) {
        int code;
        switch (text[k]) {
            case 'A': code = 0; break;
            case 'C': code = 1; break;
            case 'G': code = 2; break;
            case 'T': code = 3; break;
            default: states = 0; continue;
        }
        uint32_t carry = __shfl_up_sync(FULL, states, 1) >> 31;
        if (lane == 0) carry = 0;
        states = (states << 1 | carry | begin) & masks[code * 32 + lane];
        matches += __popc(states & end);
    }
    matches = __reduce_add_sync(FULL, matches);
    if (lane == 0) to[i] = matches;
}

// silhouette

#define CLUSTERS 8

struct Sizes {
    uint32_t n[CLUSTERS];
};

extern "C" __global__ void __launch_bounds__(256)
silhouette(const float* __restrict__ points, const uint8_t* __restrict__ clusters, Sizes sizes,
           float* __restrict__ to, int n) {
    __shared__ float3 tile[256];
    __shared__ int labels[256];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    int own = min(i, n - 1);
    float3 at = make_float3(points[3 * own], points[3 * own + 1], points[3 * own + 2]);
    int cluster = clusters[own];
    float sums[CLUSTERS] = {};
    for (int start = 0; start < n; start += 256) {
        int j = start + t;
        if (j < n) {
            tile[t] = make_float3(points[3 * j], points[3 * j + 1], points[3 * j + 2]);
            labels[t] = clusters[j];
        }
        __syncthreads();
        int count = min(n - start, 256);
        for (int k = 0; k < count; k++) {
            float dx = tile[k].x - at.x, dy = tile[k].y - at.y, dz = tile[k].z - at.z;
            sums[labels[k]] += sqrtf(dx * dx + dy * dy + dz * dz);
        }
        __syncthreads();
    }
    if (i >= n) return;
    float inner = 0, outer = INFINITY;
    for (int k = 0; k < CLUSTERS; k++) {
        if (k == cluster) inner = sums[k] / max(sizes.n[k] - 1, 1);
        else if (sizes.n[k] > 0) outer = fminf(outer, sums[k] / sizes.n[k]);
    }
    to[i] = outer < INFINITY ? (outer - inner) / fmaxf(outer, inner) : 0.0f;
}

// csg_field3d

struct Node {
    uint32_t kind;
    float v[7];
};

extern "C" __global__ void __launch_bounds__(128)
csg_field3d(const Node* __restrict__ program, int count, float size, float* __restrict__ to,
            int width, int height, int depth) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y,
        k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i >= width || j >= height || k >= depth) return;
    float step = size / width;
    float x = (i + 0.5f) * step, y = (j + 0.5f) * step, z = (k + 0.5f) * step;
    float stack[8];
    int top = 0;
    for (int n = 0; n < count; n++) {
        Node node = program[n];
        const float* v = node.v;
        float a, b, h, q;
        float dx = x - v[0], dy = y - v[1], dz = z - v[2];
        switch (node.kind) {
            case 0: stack[top++] = sqrtf(dx * dx + dy * dy + dz * dz) - v[3]; break;
            case 1: {
                float qx = fabsf(dx) - v[3], qy = fabsf(dy) - v[4], qz = fabsf(dz) - v[5];
                float inside = fminf(fmaxf(qx, fmaxf(qy, qz)), 0.0f);
                float ox = fmaxf(qx, 0.0f), oy = fmaxf(qy, 0.0f), oz = fmaxf(qz, 0.0f);
                stack[top++] = sqrtf(ox * ox + oy * oy + oz * oz) + inside - v[6];
                break;
            }
            case 2:
                q = sqrtf(dx * dx + dz * dz) - v[3];
                stack[top++] = sqrtf(q * q + dy * dy) - v[4];
                break;
            default:
                b = stack[--top];
                a = stack[top - 1];
                if (node.kind == 3) {
                    a = fminf(a, b);
                } else if (node.kind == 4) {
                    a = fmaxf(a, b);
                } else if (node.kind == 5) {
                    a = fmaxf(a, -b);
                } else {
                    h = fminf(fmaxf(0.5f + 0.5f * (b - a) / v[0], 0.0f), 1.0f);
                    a = b + (a - b) * h - v[0] * h * (1 - h);
                }
                stack[top - 1] = a;
        }
    }
    to[(k * height + j) * width + i] = stack[top - 1];
}

// vessel3d

extern "C" __global__ void __launch_bounds__(256)
vessel3d(const float* __restrict__ volume, float* __restrict__ to, int width, int height,
         int depth) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
        z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= width || y >= height || z >= depth) return;
    auto at = [&](int dx, int dy, int dz) {
        int i = min(max(x + dx, 0), width - 1), j = min(max(y + dy, 0), height - 1),
            k = min(max(z + dz, 0), depth - 1);
        return volume[(k * height + j) * width + i];
    };
    float center = at(0, 0, 0);
    float xx = at(1, 0, 0) - 2 * center + at(-1, 0, 0);
    float yy = at(0, 1, 0) - 2 * center + at(0, -1, 0);
    float zz = at(0, 0, 1) - 2 * center + at(0, 0, -1);
    float xy = 0.25f * (at(1, 1, 0) + at(-1, -1, 0) - at(1, -1, 0) - at(-1, 1, 0));
    float xz = 0.25f * (at(1, 0, 1) + at(-1, 0, -1) - at(1, 0, -1) - at(-1, 0, 1));
    float yz = 0.25f * (at(0, 1, 1) + at(0, -1, -1) - at(0, 1, -1) - at(0, -1, 1));
    float trace = xx + yy + zz;
    float minors = xx * yy - xy * xy + xx * zz - xz * xz + yy * zz - yz * yz;
    float determinant =
        xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz);
    float result = 0;
    if (trace < 0 && minors > 0) {
        float tube = minors / (trace * trace);
        float blob = fabsf(determinant) / (fabsf(trace) * minors);
        result = 4 * tube * expf(-4 * blob);
    }
    to[(z * height + y) * width + x] = result;
}

// rate_laws

struct Parameters {
    float p[8];
};

__device__ __forceinline__ float4 change(const float* p, float4 a, float temperature) {
    float r0 = p[0] * expf(-p[1] / (8.314f * temperature)) * a.x;
    float r1 = p[2] * a.y / (p[3] + a.y);
    float x = powf(a.z / p[5], p[6]);
    float r2 = p[4] * x / (1 + x);
    float r3 = p[7] * expf(-0.5f * p[1] / (8.314f * temperature)) * a.w;
    return make_float4(r3 - r0, r0 - r1, r1 - r2, r2 - r3);
}

__device__ __forceinline__ float4 moved(float4 a, float4 b, float f) {
    return make_float4(a.x + f * b.x, a.y + f * b.y, a.z + f * b.z, a.w + f * b.w);
}

extern "C" __global__ void __launch_bounds__(256)
rate_laws(const float4* __restrict__ start, const float* __restrict__ temperatures,
          Parameters parameters, int steps, float dt, float4* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float temperature = temperatures[i];
    float4 x = start[i];
    for (int step = 0; step < steps; step++) {
        float4 a = change(parameters.p, x, temperature);
        float4 b = change(parameters.p, moved(x, a, 0.5f * dt), temperature);
        float4 c = change(parameters.p, moved(x, b, 0.5f * dt), temperature);
        float4 d = change(parameters.p, moved(x, c, dt), temperature);
        x.x += dt / 6 * (a.x + 2 * b.x + 2 * c.x + d.x);
        x.y += dt / 6 * (a.y + 2 * b.y + 2 * c.y + d.y);
        x.z += dt / 6 * (a.z + 2 * b.z + 2 * c.z + d.z);
        x.w += dt / 6 * (a.w + 2 * b.w + 2 * c.w + d.w);
    }
    to[i] = x;
}

// triplet_mine

extern "C" __global__ void __launch_bounds__(128)
triplet_mine(const __half2* __restrict__ embeddings, const uint32_t* __restrict__ classes,
             float2* __restrict__ to, int n) {
    __shared__ float2 anchor[32];
    __shared__ float2 slots[4];
    int t = threadIdx.x;
    for (int own = blockIdx.x; own < n; own += gridDim.x) {
        if (t < 32) anchor[t] = __half22float2(embeddings[own * 32 + t]);
        __syncthreads();
        uint32_t cls = classes[own];
        float positive = -1, negative = INFINITY;
        for (int j = t; j < n; j += 128) {
            if (j == own) continue;
            const __half2* row = embeddings + j * 32;
            float distance = 0;
            for (int k = 0; k < 32; k++) {
                float2 v = __half22float2(row[k]);
                float x = v.x - anchor[k].x, y = v.y - anchor[k].y;
                distance += x * x + y * y;
            }
            if (classes[j] == cls) positive = fmaxf(positive, distance);
            else negative = fminf(negative, distance);
        }
        for (int d = 16; d > 0; d >>= 1) {
            positive = fmaxf(positive, __shfl_xor_sync(FULL, positive, d));
            negative = fminf(negative, __shfl_xor_sync(FULL, negative, d));
        }
        if ((t & 31) == 0) slots[t >> 5] = make_float2(positive, negative);
        __syncthreads();
        if (t == 0) {
            for (int k = 1; k < 4; k++) {
                positive = fmaxf(positive, slots[k].x);
                negative = fminf(negative, slots[k].y);
            }
            to[own] = make_float2(positive, negative);
        }
    }
}

// error_diffuse

extern "C" __global__ void __launch_bounds__(64)
error_diffuse(const uint8_t* __restrict__ image, uint8_t* __restrict__ to, int width) {
    __shared__ int handed[64];
    int row = threadIdx.x, y = blockIdx.x * 64 + row;
    image += y * width;
    to += y * width;
    int right = 0, a = 0, b = 0, c = 0, above = 0;
    for (int step = 0; step < width + 128; step++) {
        int x = step - 2 * row, complete = 0;
        if (x >= 0) {
            complete = a;
            if (x < width) {
                int value = image[x] + ((right + above) >> 4);
                int pixel = value > 127 ? 255 : 0;
                int error = value - pixel;
                to[x] = pixel;
                right = 7 * error;
                complete = a + 3 * error;
                a = b + 5 * error;
                b = c + error;
                c = 0;
            }
        }
        handed[row] = complete;
        __syncthreads();
        above = row > 0 ? handed[row - 1] : 0;
        __syncthreads();
    }
}

// spectrum_match

__constant__ float RESIDUES[26] = {
    71.03711f,  0.0f,       103.00919f, 115.02694f, 129.04259f, 147.06841f, 57.02146f,
    137.05891f, 113.08406f, 0.0f,       128.09496f, 113.08406f, 131.04049f, 114.04293f,
    0.0f,       97.05276f,  128.05858f, 156.10111f, 87.03203f,  101.04768f, 0.0f,
    99.06841f,  186.07931f, 0.0f,       163.06333f, 0.0f,
};

__device__ __forceinline__ float peak(const float* masses, const float* intensities, int n,
                                      float mass) {
    int low = 0, high = n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (masses[middle] < mass - 0.02f) low = middle + 1;
        else high = middle;
    }
    return low < n && masses[low] <= mass + 0.02f ? intensities[low] : 0;
}

extern "C" __global__ void __launch_bounds__(128)
spectrum_match(const float* __restrict__ peaks, const float* __restrict__ intensities,
               const uint32_t* __restrict__ starts, const uint8_t* __restrict__ peptides,
               float2* __restrict__ to) {
    __shared__ float masses[512];
    __shared__ float2 slots[4];
    int t = threadIdx.x, start = starts[blockIdx.x], n = starts[blockIdx.x + 1] - start;
    intensities += start;
    for (int i = t; i < n; i += 128) masses[i] = peaks[start + i];
    __syncthreads();
    const uint8_t* peptide = peptides + (blockIdx.x * 128 + t) * 12;
    float score = 0, mass = 1.00728f;
    for (int k = 0; k < 11; k++) {
        mass += RESIDUES[peptide[k] - 'A'];
        score += peak(masses, intensities, n, mass);
    }
    mass = 19.01784f;
    for (int k = 11; k > 0; k--) {
        mass += RESIDUES[peptide[k] - 'A'];
        score += peak(masses, intensities, n, mass);
    }
    float number = t;
    for (int d = 16; d > 0; d >>= 1) {
        float other = __shfl_down_sync(FULL, score, d);
        float other_number = __shfl_down_sync(FULL, number, d);
        if (other > score) {
            score = other;
            number = other_number;
        }
    }
    if ((t & 31) == 0) slots[t >> 5] = make_float2(score, number);
    __syncthreads();
    if (t == 0) {
        for (int k = 1; k < 4; k++) {
            if (slots[k].x > score) {
                score = slots[k].x;
                number = slots[k].y;
            }
        }
        to[blockIdx.x] = make_float2(score, number);
    }
}

// compressor_q15

__constant__ int16_t GAINS[17] = {32767, 32767, 32767, 32767, 30000, 27500, 25300, 23400, 21700,
                                  20200, 18900, 17700, 16600, 15700, 14900, 14200, 13600};

__device__ __forceinline__ int saturated(int v) { return min(max(v, -32768), 32767); }

extern "C" __global__ void __launch_bounds__(128)
compressor_q15(const int16_t* __restrict__ samples, int attack, int release,
               int16_t* __restrict__ to, int channels, int count) {
    int channel = blockIdx.x * blockDim.x + threadIdx.x;
    if (channel >= channels) return;
    int level = 0;
    for (int k = 0; k < count; k++) {
        int sample = samples[k * channels + channel];
        int change = saturated(min(abs(sample), 32767) - level);
        int speed = change > 0 ? attack : release;
        level = saturated(level + saturated((change * speed + 0x4000) >> 15));
        int positive = max(level, 0), step = positive >> 11, part = (positive & 0x7ff) << 4;
        int low = GAINS[step], high = GAINS[step + 1];
        int gain = saturated(low + (((high - low) * part + 0x4000) >> 15));
        to[k * channels + channel] = saturated((sample * gain + 0x4000) >> 15);
    }
}

// timestamps

__device__ __forceinline__ int64_t number(const uint8_t* text, int& at, int end, bool& valid) {
    int start = at;
    int64_t value = 0;
    while (at < end) {
        uint8_t digit = text[at] - '0';
        if (digit > 9) break;
        value = value * 10 + digit;
        at++;
    }
    if (at == start) valid = false;
    return value;
}

__device__ __forceinline__ void expect(const uint8_t* text, int& at, int end, bool& valid, char c) {
    if (at >= end || text[at] != c) valid = false;
    at++;
}

extern "C" __global__ void __launch_bounds__(256)
timestamps(const uint8_t* __restrict__ text, const uint32_t* __restrict__ starts,
           int64_t* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int at = starts[i], end = starts[i + 1];
    bool valid = true;
    int64_t year = number(text, at, end, valid);
    expect(text, at, end, valid, '-');
    int64_t month = number(text, at, end, valid);
    expect(text, at, end, valid, '-');
    int64_t day = number(text, at, end, valid);
    expect(text, at, end, valid, 'T');
    int64_t hours = number(text, at, end, valid);
    expect(text, at, end, valid, ':');
    int64_t minutes = number(text, at, end, valid);
    expect(text, at, end, valid, ':');
    int64_t seconds = number(text, at, end, valid);
    int64_t millis = 0, offset = 0;
    if (at < end && text[at] == '.') {
        int start = ++at;
        millis = number(text, at, end, valid);
        switch (at - start) {
            case 1: millis *= 100; break;
            case 2: millis *= 10; break;
            case 3: break;
            default: valid = false;
        }
    }
    if (at < end && (text[at] == '+' || text[at] == '-')) {
        bool negative = text[at++] == '-';
        offset = 60 * number(text, at, end, valid);
        expect(text, at, end, valid, ':');
        offset += number(text, at, end, valid);
        if (negative) offset = -offset;
    } else {
        expect(text, at, end, valid, 'Z');
    }
    if (!valid || at != end || month < 1 || month > 12 || day < 1 || day > 31) {
        to[i] = LLONG_MIN;
        return;
    }
    if (month <= 2) year--;
    int64_t era = year / 400, of_era = year % 400;
    int64_t of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    int64_t days = era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
    to[i] = (((days * 24 + hours) * 60 + minutes - offset) * 60 + seconds) * 1000 + millis;
}

// biweight

__device__ __forceinline__ void sort15(float* values) {
    for (int i = 1; i < 15; i++) {
        float x = values[i];
        int k = i;
        while (k > 0 && values[k - 1] > x) {
            values[k] = values[k - 1];
            k--;
        }
        values[k] = x;
    }
}

extern "C" __global__ void __launch_bounds__(256)
biweight(const float* __restrict__ signal, float* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float values[15], sorted[15];
    for (int k = 0; k < 15; k++) sorted[k] = values[k] = signal[i + k];
    sort15(sorted);
    float center = sorted[7];
    for (int k = 0; k < 15; k++) sorted[k] = fabsf(values[k] - center);
    sort15(sorted);
    float deviation = fmaxf(sorted[7], 1e-6f), sum = 0, weights = 0;
    for (int k = 0; k < 15; k++) {
        float distance = (values[k] - center) / (6 * deviation);
        if (fabsf(distance) < 1) {
            float weight = (1 - distance * distance) * (1 - distance * distance);
            sum += weight * values[k];
            weights += weight;
        }
    }
    to[i] = sum / weights;
}

// circle_fit

extern "C" __global__ void __launch_bounds__(256)
circle_fit(const float2* __restrict__ points, float3* __restrict__ to, int n) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    int number = index / 8, lane = index % 8;
    float sums[8] = {};
    float2 origin = make_float2(0, 0);
    if (number < n) {
        const float2* arc = points + number * 64;
        origin = arc[0];
        for (int k = lane; k < 64; k += 8) {
            float x = arc[k].x - origin.x, y = arc[k].y - origin.y, z = x * x + y * y;
            sums[0] += x;
            sums[1] += y;
            sums[2] += x * x;
            sums[3] += x * y;
            sums[4] += y * y;
            sums[5] += x * z;
            sums[6] += y * z;
            sums[7] += z;
        }
    }
#pragma unroll
    for (int q = 0; q < 8; q++)
        for (int d = 4; d > 0; d >>= 1) sums[q] += __shfl_xor_sync(FULL, sums[q], d);
    if (number >= n || lane > 0) return;
    float sx = sums[0], sy = sums[1], sz = sums[7];
    float xx = sums[2] - sx * sx / 64, xy = sums[3] - sx * sy / 64, yy = sums[4] - sy * sy / 64;
    float xz = sums[5] - sx * sz / 64, yz = sums[6] - sy * sz / 64;
    float determinant = xx * yy - xy * xy;
    float3 circle = make_float3(INFINITY, INFINITY, INFINITY);
    if (fabsf(determinant) >= 1e-9f) {
        float x = 0.5f * (xz * yy - yz * xy) / determinant;
        float y = 0.5f * (yz * xx - xz * xy) / determinant;
        float square = (sz - 2 * (x * sx + y * sy)) / 64 + x * x + y * y;
        circle = make_float3(origin.x + x, origin.y + y, sqrtf(fmaxf(square, 0.0f)));
    }
    to[number] = circle;
}
