#include <cstdint>
#include <cuda_fp16.h>

#define FULL 0xffffffffu

extern "C" __global__ void collatz_peak(unsigned long long first, unsigned* __restrict__ steps,
                                        unsigned long long* __restrict__ peaks, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long x = first + i, peak = x;
    unsigned count = 1;
    while (x > 1) {
        x = x % 2 == 0 ? x / 2 : 3 * x + 1;
        if (x > peak) peak = x;
        count++;
    }
    steps[i] = count;
    peaks[i] = peak;
}

__device__ __forceinline__ bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }

extern "C" __global__ void version_order(const uint8_t* __restrict__ a, const uint8_t* __restrict__ b,
                                         int* __restrict__ to, int n) {
    const int VERSION = 24;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    a += i * VERSION;
    b += i * VERSION;
    int p = 0, q = 0, result;
    while (true) {
        int sp = p, sq = q;
        unsigned x = 0, y = 0;
        while (p < VERSION && is_digit(a[p])) x = x * 10 + (a[p++] - '0');
        while (q < VERSION && is_digit(b[q])) y = y * 10 + (b[q++] - '0');
        if (p == sp || q == sq) { result = 2; break; }
        if (x != y) { result = x < y ? -1 : 1; break; }
        bool more_a = p < VERSION && a[p] == '.', more_b = q < VERSION && b[q] == '.';
        if (!(more_a && more_b)) { result = (int)more_a - (int)more_b; break; }
        p++;
        q++;
    }
    to[i] = result;
}

struct Pair { float square; unsigned i, j; };
__device__ __forceinline__ bool before(const Pair& a, const Pair& b) {
    return a.square < b.square || (a.square == b.square && (a.i < b.i || (a.i == b.i && a.j < b.j)));
}

extern "C" __global__ __launch_bounds__(256) void closest_pair(const float* __restrict__ x, const float* __restrict__ y,
                                                              unsigned* __restrict__ to, int n) {
    __shared__ Pair pairs[8];
    Pair best = {INFINITY, ~0u, ~0u};
    int items = n * ((n + 255) / 256);
    for (int item = blockIdx.x * blockDim.x + threadIdx.x; item < items; item += gridDim.x * blockDim.x) {
        int i = item % n, start = item / n * 256, end = min(n, start + 256);
        float px = x[i], py = y[i];
        for (int j = max(start, i + 1); j < end; j++) {
            float dx = x[j] - px, dy = y[j] - py;
            Pair pair = {dx * dx + dy * dy, (unsigned)i, (unsigned)j};
            if (before(pair, best)) best = pair;
        }
    }
    for (int d = 16; d > 0; d /= 2) {
        Pair other = {__shfl_xor_sync(FULL, best.square, d), __shfl_xor_sync(FULL, best.i, d), __shfl_xor_sync(FULL, best.j, d)};
        if (before(other, best)) best = other;
    }
    if (threadIdx.x % 32 == 0) pairs[threadIdx.x / 32] = best;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; w++)
            if (before(pairs[w], best)) best = pairs[w];
        to[blockIdx.x * 3] = __float_as_uint(best.square);
        to[blockIdx.x * 3 + 1] = best.i;
        to[blockIdx.x * 3 + 2] = best.j;
    }
}

__device__ __forceinline__ int depth_change(uint8_t c) {
    switch (c) {
    case '(': case '[': case '{': return 1;
    case ')': case ']': case '}': return -1;
    default: return 0;
    }
}

__device__ __forceinline__ int warp_scan(int x) {
    int lane = threadIdx.x % 32;
    for (int d = 1; d < 32; d *= 2) {
        int other = __shfl_up_sync(FULL, x, d);
        if (lane >= d) x += other;
    }
    return x;
}

extern "C" __global__ __launch_bounds__(256) void bracket_depth(const uint8_t* __restrict__ text, int length, int* __restrict__ to) {
    __shared__ int sums[8], lows[8], highs[8];
    int t = threadIdx.x, lane = t % 32, w = t / 32;
    text += (size_t)blockIdx.x * length;
    int depth = 0, lowest = 0, highest = 0;
    for (int start = 0; start < length; start += 256) {
        int i = start + t;
        int sum = warp_scan(i < length ? depth_change(text[i]) : 0);
        if (lane == 31) sums[w] = sum;
        __syncthreads();
        int total = 0;
        for (int k = 0; k < 8; k++) {
            if (k == w) sum += total;
            total += sums[k];
        }
        lowest = min(lowest, depth + sum);
        highest = max(highest, depth + sum);
        depth += total;
        __syncthreads();
    }
    lowest = __reduce_min_sync(FULL, lowest);
    highest = __reduce_max_sync(FULL, highest);
    if (lane == 0) { lows[w] = lowest; highs[w] = highest; }
    __syncthreads();
    if (t == 0) {
        for (int k = 1; k < 8; k++) {
            lowest = min(lowest, lows[k]);
            highest = max(highest, highs[k]);
        }
        to[blockIdx.x] = lowest < 0 || depth != 0 ? -1 : highest;
    }
}

extern "C" __global__ __launch_bounds__(128) void pipe_loss(const float* __restrict__ speeds, const float* __restrict__ roughnesses,
                                                           float* __restrict__ to, int n) {
    const float LOG10_E = 0.434294482f;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float speed = speeds[i], roughness = roughnesses[i], sum = 0;
    for (int k = 0; k < 16; k++) {
        float diameter = 1.0f - 0.04f * k;
        float local = speed / (diameter * diameter);
        float reynolds = 20000.0f * local * diameter;
        float factor = 64.0f / reynolds;
        if (reynolds >= 4000.0f) {
            float a = 2.51f / reynolds, b = roughness / diameter / 3.7f, x = 7.0f;
            for (int round = 0;; round++) {
                if (round == 30) { x = NAN; break; }
                float inner = x * a + b;
                float value = x + logf(inner) * LOG10_E * 2.0f;
                float slope = 1.0f + a / inner * LOG10_E * 2.0f;
                float step = value / slope;
                x -= step;
                if (fabsf(step) < 1e-5f * fabsf(x)) break;
            }
            factor = 1.0f / (x * x);
        }
        sum += factor * local * local / diameter;
    }
    to[i] = sum;
}

extern "C" __global__ void abcd_beam(const unsigned* __restrict__ kinds, const float* __restrict__ values, int count,
                                     float* __restrict__ to, int n) {
    const int SCAN = 1024;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float length = 0.5f + (float)(i % SCAN) / SCAN, power = 0.5f + (float)(i / SCAN) / SCAN;
    float a = 1, b = 0, c = 0, d = 1;
    for (int k = 0; k < count; k++) {
        float value = values[k], f = 0, g = 0;
        switch (kinds[k]) {
        case 0: f = value * length; break;
        case 1: g = -1.0f / (value / power); break;
        case 2: g = -2.0f / (value / power); break;
        default: f = value / 1.5f;
        }
        float a2 = a + f * c, b2 = b + f * d;
        c = g * a + c;
        d = g * b + d;
        a = a2;
        b = b2;
    }
    float m = (a + d) / 2;
    to[i] = fabsf(m) < 1 ? sqrtf(fabsf(b) / sqrtf(1 - m * m)) : 0.0f;
}

__device__ __forceinline__ void invert3(const double (&m)[9], double (&to)[9]) {
    double c0 = m[4] * m[8] - m[5] * m[7];
    double c1 = m[5] * m[6] - m[3] * m[8];
    double c2 = m[3] * m[7] - m[4] * m[6];
    double r = 1.0 / (m[0] * c0 + m[1] * c1 + m[2] * c2);
    to[0] = c0 * r;
    to[1] = (m[2] * m[7] - m[1] * m[8]) * r;
    to[2] = (m[1] * m[5] - m[2] * m[4]) * r;
    to[3] = c1 * r;
    to[4] = (m[0] * m[8] - m[2] * m[6]) * r;
    to[5] = (m[2] * m[3] - m[0] * m[5]) * r;
    to[6] = c2 * r;
    to[7] = (m[1] * m[6] - m[0] * m[7]) * r;
    to[8] = (m[0] * m[4] - m[1] * m[3]) * r;
}

extern "C" __global__ __launch_bounds__(128) void matrix_sqrt(const double* __restrict__ from, double* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double y[9], z[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, u[9], v[9];
    for (int k = 0; k < 9; k++) y[k] = from[i * 9 + k];
    for (int round = 0; round < 25; round++) {
        invert3(z, u);
        invert3(y, v);
        double change = 0;
        for (int k = 0; k < 9; k++) {
            double next = (y[k] + u[k]) * 0.5;
            change = fmax(change, fabs(next - y[k]));
            y[k] = next;
            z[k] = (z[k] + v[k]) * 0.5;
        }
        if (change < 1e-10) break;
    }
    for (int k = 0; k < 9; k++) to[i * 9 + k] = y[k];
}

extern "C" __global__ __launch_bounds__(256) void census24(const uint8_t* __restrict__ image, int width, int height,
                                                        unsigned* __restrict__ to) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    uint8_t center = image[y * width + x];
    unsigned bits = 0;
    for (int dy = -2; dy <= 2; dy++)
        for (int dx = -2; dx <= 2; dx++)
            if (dx != 0 || dy != 0) {
                int xx = min(max(x + dx, 0), width - 1), yy = min(max(y + dy, 0), height - 1);
                bits = bits << 1 | (image[yy * width + xx] < center);
            }
    to[y * width + x] = bits;
}

extern "C" __global__ __launch_bounds__(256) void erode_ball(const uint8_t* __restrict__ from, int width, int height, int depth,
                                                            uint8_t* __restrict__ to) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= width || y >= height || z >= depth) return;
    int lowest = 255;
    for (int dz = -2; dz <= 2; dz++)
        for (int dy = -2; dy <= 2; dy++)
            for (int dx = -2; dx <= 2; dx++) {
                if (dx * dx + dy * dy + dz * dz > 5) continue;
                int xx = x + dx, yy = y + dy, zz = z + dz;
                if (xx >= 0 && xx < width && yy >= 0 && yy < height && zz >= 0 && zz < depth)
                    lowest = min(lowest, (int)from[(zz * height + yy) * width + xx]);
            }
    to[(z * height + y) * width + x] = lowest;
}

extern "C" __global__ __launch_bounds__(256) void kuramoto3d(float dt, float coupling, const float* __restrict__ phase,
                                                            const float* __restrict__ speed, int width, int height,
                                                            int depth, float* __restrict__ to) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int left = (x + width - 1) % width, right = (x + 1) % width, up = (y + height - 1) % height, down = (y + 1) % height;
    for (int z = blockIdx.z; z < depth; z += gridDim.z) {
        int i = (z * height + y) * width + x;
        float own = phase[i];
        float pull = sinf(phase[(z * height + y) * width + right] - own) + sinf(phase[(z * height + y) * width + left] - own) +
                     sinf(phase[(z * height + down) * width + x] - own) + sinf(phase[(z * height + up) * width + x] - own) +
                     sinf(phase[((z + 1) % depth * height + y) * width + x] - own) +
                     sinf(phase[((z + depth - 1) % depth * height + y) * width + x] - own);
        to[i] = own + dt * (speed[i] + coupling * pull);
    }
}

__device__ __forceinline__ double event_time(double latitude, double longitude, double sign, double day) {
    const double PI = 3.14159265358979323846, DEGREE = PI / 180, TAU = 2 * PI;
    double time = 0.5;
    for (int round = 0; round < 4; round++) {
        double t = (day + time) / 36525.0;
        double anomaly = (357.52911 + 35999.05029 * t) * DEGREE;
        double mean = (280.46646 + 36000.76983 * t) * DEGREE;
        double center = 1.914602 * sin(anomaly) + 0.019993 * sin(2.0 * anomaly) + 0.000289 * sin(3.0 * anomaly);
        double l = mean + center * DEGREE;
        double tilt = (23.439291 - 0.0130042 * t) * DEGREE;
        double declination = asin(sin(tilt) * sin(l));
        double ascension = atan2(cos(tilt) * sin(l), cos(l));
        double angle = mean - ascension;
        double equation = angle - TAU * floor(angle / TAU + 0.5);
        double cosine = (sin(-0.833 * DEGREE) - sin(latitude) * sin(declination)) / (cos(latitude) * cos(declination));
        if (!(cosine >= -1.0 && cosine <= 1.0)) return NAN;
        time = 0.5 + (sign * acos(cosine) - longitude - equation) / TAU;
    }
    return time;
}

extern "C" __global__ __launch_bounds__(128) void day_length(const double* __restrict__ latitudes, const double* __restrict__ longitudes,
                                                            double* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double latitude = latitudes[i], longitude = longitudes[i], day = i % 365;
    double set = event_time(latitude, longitude, 1.0, day);
    double rise = isnan(set) ? set : event_time(latitude, longitude, -1.0, day);
    to[i] = isnan(rise) ? -1.0 : set - rise;
}

__constant__ long long HOURLY[24] = {90011, 90011, 80007, 80007, 80007, 90011, 120013, 250017, 310019, 300023, 240029, 220031,
                                     230037, 210041, 200043, 210047, 260053, 330059, 380061, 360067, 300071, 220073, 150079, 110083};

extern "C" __global__ void tariff_bill(const uint8_t* __restrict__ tariffs, const uint16_t* __restrict__ readings,
                                       long long* __restrict__ to, int customers) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= customers) return;
    int tariff = tariffs[i] % 4;
    long long bill = 0;
    int before = 0;
    for (int quarter = 0; quarter < 96; quarter++) {
        int used = readings[quarter * customers + i];
        switch (tariff) {
        case 0: bill += 212345LL * used; break;
        case 1: {
            int after = before + used;
            int first = min(after, 9000) - min(before, 9000);
            int second = min(max(after, 9000), 15000) - min(max(before, 9000), 15000);
            int third = max(after, 15000) - max(before, 15000);
            bill += 150001LL * first + 210003LL * second + 333333LL * third;
            break;
        }
        case 2: bill += HOURLY[quarter / 4] * used; break;
        default:
            bill += 170009LL * used;
            if (used > 200) bill += 500021LL * (used - 200);
        }
        before += used;
    }
    to[i] = bill;
}

extern "C" __global__ __launch_bounds__(256) void cooccurrence(const uint8_t* __restrict__ image, int width, int n,
                                                              unsigned* __restrict__ counts) {
    __shared__ unsigned bins[256];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int row = (image[i] >> 4) * 16;
        if ((i + 1) % width != 0 && i + 1 < n) atomicAdd(&bins[row + (image[i + 1] >> 4)], 1);
        if (i + width < n) atomicAdd(&bins[row + (image[i + width] >> 4)], 1);
    }
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], bins[threadIdx.x]);
}

extern "C" __global__ __launch_bounds__(256) void two_squares(unsigned long long first, int count, unsigned long long* __restrict__ to) {
    typedef unsigned long long u64;
    __shared__ u64 totals[8], numbers[8];
    __shared__ unsigned ways_of[8];
    u64 total = 0, best_number = 0;
    unsigned best = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        u64 number = first + i, low = 0, high = (u64)sqrt((double)number);
        unsigned ways = 0;
        while (low <= high) {
            u64 sum = low * low + high * high;
            if (sum == number) ways++;
            if (sum <= number) low++;
            if (sum >= number) high--;
        }
        total += ways;
        if (ways > best || (ways == best && number > best_number)) { best = ways; best_number = number; }
    }
    for (int d = 16; d > 0; d /= 2) {
        total += __shfl_xor_sync(FULL, total, d);
        unsigned ways = __shfl_xor_sync(FULL, best, d);
        u64 number = __shfl_xor_sync(FULL, best_number, d);
        if (ways > best || (ways == best && number > best_number)) { best = ways; best_number = number; }
    }
    if (threadIdx.x % 32 == 0) {
        totals[threadIdx.x / 32] = total;
        ways_of[threadIdx.x / 32] = best;
        numbers[threadIdx.x / 32] = best_number;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; w++) {
            total += totals[w];
            if (ways_of[w] > best || (ways_of[w] == best && numbers[w] > best_number)) { best = ways_of[w]; best_number = numbers[w]; }
        }
        to[blockIdx.x * 2] = total;
        to[blockIdx.x * 2 + 1] = best_number;
    }
}

extern "C" __global__ __launch_bounds__(128) void time_warp(const float* __restrict__ series, int length,
                                                           const float* __restrict__ templates, int count,
                                                           float* __restrict__ to, int n) {
    int number = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (number >= n) return;
    series += (size_t)number * length;
    float own = templates[number % count * 32 + lane];
    float above = INFINITY, diagonal = lane == 0 ? 0.0f : INFINITY;
    for (int step = 0; step < length + 31; step++) {
        float left = __shfl_up_sync(FULL, above, 1);
        if (lane == 0) left = INFINITY;
        int row = step - lane;
        if (row >= 0 && row < length) {
            above = fabsf(series[row] - own) + fminf(fminf(left, above), diagonal);
            diagonal = left;
        }
    }
    if (lane == 31) to[number] = above;
}

extern "C" __global__ __launch_bounds__(256) void label_votes(const unsigned* __restrict__ starts, const unsigned* __restrict__ neighbors,
                                                             const unsigned* __restrict__ labels, unsigned* __restrict__ to, int n) {
    int vertex = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (vertex >= n) return;
    unsigned at = starts[vertex] + lane;
    bool present = at < starts[vertex + 1];
    unsigned label = ~0u - lane;
    if (present) label = labels[neighbors[at]];
    unsigned count = __popc(__match_any_sync(FULL, label));
    if (!present) { count = 0; label = ~0u; }
    unsigned most = __reduce_max_sync(FULL, count);
    unsigned winner = __reduce_min_sync(FULL, count == most ? label : ~0u);
    if (lane == 0) to[vertex] = winner;
}

extern "C" __global__ __launch_bounds__(256) void ntt_rows(const unsigned* __restrict__ from, const unsigned* __restrict__ roots,
                                                          unsigned* __restrict__ to) {
    const unsigned MODULUS = 998244353;
    __shared__ unsigned values[512];
    int t = threadIdx.x;
    from += blockIdx.x * 512;
    to += blockIdx.x * 512;
    for (int i = t; i < 512; i += 256) values[i] = from[__brev(i) >> 23];
    __syncthreads();
    for (int stage = 8; stage >= 0; stage--) {
        unsigned root = roots[t >> stage << stage];
        unsigned even = values[2 * t];
        unsigned odd = (unsigned long long)values[2 * t + 1] * root % MODULUS;
        __syncthreads();
        unsigned sum = even + odd;
        values[t] = sum >= MODULUS ? sum - MODULUS : sum;
        values[t + 256] = even >= odd ? even - odd : even + MODULUS - odd;
        __syncthreads();
    }
    for (int i = t; i < 512; i += 256) to[i] = values[i];
}

extern "C" __global__ __launch_bounds__(256) void regions(const uint8_t* __restrict__ mask, uint16_t* __restrict__ to) {
    __shared__ volatile unsigned labels[32][32];
    mask += blockIdx.x * 1024;
    to += blockIdx.x * 1024;
    int x = threadIdx.x;
    for (int y = threadIdx.y; y < 32; y += 8) labels[y][x] = mask[y * 32 + x] ? y * 32 + x + 1 : 0;
    __syncthreads();
    int changed;
    do {
        changed = 0;
        for (int y = threadIdx.y; y < 32; y += 8) {
            unsigned own = labels[y][x], lowest = own, other;
            if (own == 0) continue;
            if (x > 0 && (other = labels[y][x - 1]) != 0) lowest = min(lowest, other);
            if (x < 31 && (other = labels[y][x + 1]) != 0) lowest = min(lowest, other);
            if (y > 0 && (other = labels[y - 1][x]) != 0) lowest = min(lowest, other);
            if (y < 31 && (other = labels[y + 1][x]) != 0) lowest = min(lowest, other);
            if (lowest < own) { labels[y][x] = lowest; changed = 1; }
        }
    } while (__syncthreads_or(changed));
    for (int y = threadIdx.y; y < 32; y += 8) to[y * 32 + x] = labels[y][x];
}

extern "C" __global__ __launch_bounds__(256) void two_opt(const float* __restrict__ from_x, const float* __restrict__ from_y,
                                                         float* __restrict__ gains, unsigned* __restrict__ moves) {
    const int N = 200;
    __shared__ float x[N], y[N], warp_gains[8];
    __shared__ unsigned warp_moves[8];
    int t = threadIdx.x;
    if (t < N) {
        x[t] = from_x[blockIdx.x * N + t];
        y[t] = from_y[blockIdx.x * N + t];
    }
    __syncthreads();
    auto distance = [&](int a, int b) {
        float dx = x[a] - x[b], dy = y[a] - y[b];
        return sqrtf(dx * dx + dy * dy);
    };
    float gain = 0;
    unsigned pair = 0;
    for (int p = t; p < N * N; p += 256) {
        int a = p / N, b = p % N;
        if (a < b) {
            int a1 = (a + 1) % N, b1 = (b + 1) % N;
            float g = distance(a, a1) + distance(b, b1) - distance(a, b) - distance(a1, b1);
            if (g > gain) { gain = g; pair = p; }
        }
    }
    for (int d = 16; d > 0; d /= 2) {
        float g = __shfl_down_sync(FULL, gain, d);
        unsigned q = __shfl_down_sync(FULL, pair, d);
        if (g > gain) { gain = g; pair = q; }
    }
    if (t % 32 == 0) { warp_gains[t / 32] = gain; warp_moves[t / 32] = pair; }
    __syncthreads();
    if (t == 0) {
        for (int w = 1; w < 8; w++)
            if (warp_gains[w] > gain) { gain = warp_gains[w]; pair = warp_moves[w]; }
        gains[blockIdx.x] = gain;
        moves[blockIdx.x] = pair;
    }
}

__device__ __forceinline__ int sign_of(unsigned bits) { return 1 - 2 * (__popc(bits) & 1); }

extern "C" __global__ __launch_bounds__(64) void viterbi_paths(const char2* __restrict__ frames, unsigned* __restrict__ to) {
    const int STEPS = 192;
    __shared__ int metrics[64];
    __shared__ unsigned history[2 * STEPS];
    unsigned state = threadIdx.x, old = state >> 1;
    frames += blockIdx.x * STEPS;
    int a0 = sign_of(state & 0171), a1 = sign_of(state & 0133);
    int b0 = sign_of((state | 64) & 0171), b1 = sign_of((state | 64) & 0133);
    metrics[state] = state == 0 ? 0 : -10000;
    __syncthreads();
    for (int step = 0; step < STEPS; step++) {
        char2 soft = frames[step];
        int zero = metrics[old] + a0 * soft.x + a1 * soft.y;
        int one = metrics[old + 32] + b0 * soft.x + b1 * soft.y;
        unsigned choices = __ballot_sync(FULL, one > zero);
        if (state % 32 == 0) history[2 * step + state / 32] = choices;
        __syncthreads();
        metrics[state] = max(zero, one);
        __syncthreads();
    }
    if (state == 0) {
        to += blockIdx.x * (STEPS / 32);
        unsigned s = 0, word = 0;
        for (int step = STEPS - 1; step >= 0; step--) {
            word |= (s & 1) << (step % 32);
            if (step % 32 == 0) { to[step / 32] = word; word = 0; }
            unsigned choice = history[2 * step + s / 32] >> (s % 32) & 1;
            s = s >> 1 | choice << 5;
        }
    }
}

extern "C" __global__ __launch_bounds__(256) void rbf_field(const float* __restrict__ center_x, const float* __restrict__ center_y,
                                                           const __half* __restrict__ weights, int centers,
                                                           const float* __restrict__ point_x, const float* __restrict__ point_y,
                                                           float* __restrict__ to, int n) {
    __shared__ float x[256], y[256];
    __shared__ __half w[256];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    float px = 0, py = 0, sum = 0;
    if (i < n) { px = point_x[i]; py = point_y[i]; }
    for (int start = 0; start < centers; start += 256) {
        int c = start + t;
        x[t] = c < centers ? center_x[c] : 0.0f;
        y[t] = c < centers ? center_y[c] : 0.0f;
        w[t] = c < centers ? weights[c] : __float2half(0.0f);
        __syncthreads();
        if (i < n)
            for (int k = 0; k < 256; k++) {
                float dx = px - x[k], dy = py - y[k];
                sum += expf(-40.0f * (dx * dx + dy * dy)) * __half2float(w[k]);
            }
        __syncthreads();
    }
    if (i < n) to[i] = sum;
}

extern "C" __global__ __launch_bounds__(256) void varbit_pack(const uint8_t* __restrict__ messages, const uint16_t* __restrict__ codes,
                                                             const uint8_t* __restrict__ lengths, unsigned* __restrict__ to,
                                                             unsigned* __restrict__ sizes) {
    const int SYMBOLS = 2048, WORDS = SYMBOLS / 2;
    __shared__ unsigned packed[WORDS], sums[8];
    int t = threadIdx.x, lane = t % 32, w = t / 32;
    for (int i = t; i < WORDS; i += 256) packed[i] = 0;
    __syncthreads();
    unsigned start = 0;
    for (int part = 0; part < SYMBOLS; part += 256) {
        int symbol = messages[blockIdx.x * SYMBOLS + part + t];
        unsigned length = lengths[symbol];
        unsigned sum = warp_scan(length);
        if (lane == 31) sums[w] = sum;
        __syncthreads();
        unsigned total = 0;
        for (int k = 0; k < 8; k++) {
            if (k == w) sum += total;
            total += sums[k];
        }
        unsigned place = start + sum - length;
        unsigned long long bits = (unsigned long long)codes[symbol] << (place % 32);
        if ((unsigned)bits) atomicOr(&packed[place / 32], (unsigned)bits);
        if (bits >> 32) atomicOr(&packed[place / 32 + 1], (unsigned)(bits >> 32));
        start += total;
        __syncthreads();
    }
    for (int i = t; i < WORDS; i += 256) to[blockIdx.x * WORDS + i] = packed[i];
    if (t == 0) sizes[blockIdx.x] = start;
}

extern "C" __global__ __launch_bounds__(256) void forward_fill(const float* __restrict__ from, int width, float* __restrict__ to) {
    __shared__ float ends[8];
    int t = threadIdx.x, lane = t % 32, w = t / 32;
    from += (size_t)blockIdx.x * width;
    to += (size_t)blockIdx.x * width;
    float last = NAN;
    for (int start = 0; start < width; start += 256) {
        int i = start + t;
        float x = i < width ? from[i] : NAN;
        for (int d = 1; d < 32; d *= 2) {
            float other = __shfl_up_sync(FULL, x, d);
            if (lane >= d && isnan(x)) x = other;
        }
        if (lane == 31) ends[w] = x;
        __syncthreads();
        float before = last;
        for (int k = 0; k < 8; k++) {
            float end = ends[k];
            if (k < w && !isnan(end)) before = end;
            if (!isnan(end)) last = end;
        }
        if (i < width) to[i] = isnan(x) ? before : x;
        __syncthreads();
    }
}

extern "C" __global__ __launch_bounds__(256) void morph_gradient(const uint8_t* __restrict__ image, int width, int height,
                                                                uint8_t* __restrict__ to) {
    __shared__ uint8_t around[34][36];
    int tx = threadIdx.x, ty = threadIdx.y, x0 = blockIdx.x * 32, y0 = blockIdx.y * 32;
    for (int y = ty; y < 34; y += 8)
        for (int x = tx; x < 34; x += 32) {
            int sx = min(max(x0 + x - 1, 0), width - 1), sy = min(max(y0 + y - 1, 0), height - 1);
            around[y][x] = image[sy * width + sx];
        }
    __syncthreads();
    for (int y = ty; y < 32; y += 8)
        if (x0 + tx < width && y0 + y < height) {
            int low = 255, high = 0;
            for (int dy = 0; dy < 3; dy++)
                for (int dx = 0; dx < 3; dx++) {
                    int pixel = around[y + dy][tx + dx];
                    low = min(low, pixel);
                    high = max(high, pixel);
                }
            to[(y0 + y) * width + x0 + tx] = high - low;
        }
}

extern "C" __global__ __launch_bounds__(128) void queens(unsigned size, unsigned* __restrict__ to) {
    __shared__ unsigned sums[4];
    unsigned full = (1u << size) - 1, sum = 0;
    for (unsigned number = blockIdx.x * blockDim.x + threadIdx.x; number < size * size * size * size; number += gridDim.x * blockDim.x) {
        unsigned columns = 0, left = 0, right = 0, rest = number;
        bool valid = true;
        for (int k = 0; k < 4; k++) {
            unsigned bit = 1u << (rest % size);
            rest /= size;
            if ((columns | left | right) & bit) { valid = false; break; }
            columns |= bit;
            left = (left | bit) << 1;
            right = (right | bit) >> 1;
        }
        if (!valid) continue;
        uint4 stack[16];
        int depth = 0;
        stack[0] = make_uint4(columns, left, right, ~(columns | left | right) & full);
        while (true) {
            uint4& top = stack[depth];
            unsigned bit = top.w & -top.w;
            if (bit == 0) {
                if (depth == 0) break;
                depth--;
                continue;
            }
            top.w ^= bit;
            unsigned c = top.x | bit, l = (top.y | bit) << 1, r = (top.z | bit) >> 1;
            if (c == full) { sum++; continue; }
            stack[++depth] = make_uint4(c, l, r, ~(c | l | r) & full);
        }
    }
    sum = __reduce_add_sync(FULL, sum);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) to[blockIdx.x] = sums[0] + sums[1] + sums[2] + sums[3];
}

extern "C" __global__ __launch_bounds__(128) void big_fibonacci(int steps, const unsigned* __restrict__ starts,
                                                               unsigned* __restrict__ to, int n) {
    int number = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (number >= n) return;
    unsigned a = starts[number * 64 + lane], b = starts[number * 64 + 32 + lane];
    for (int step = 0; step < steps; step++) {
        unsigned sum = a + b;
        unsigned generate = __ballot_sync(FULL, sum < a), propagate = __ballot_sync(FULL, sum == ~0u);
        unsigned carries = ((generate | propagate) + generate) ^ propagate;
        a = b;
        b = sum + (carries >> lane & 1);
    }
    to[number * 32 + lane] = a;
}

extern "C" __global__ __launch_bounds__(128) void lz_unpack(const uint8_t* __restrict__ packed, uint8_t* __restrict__ to, int n) {
    const int PACKED = 160, UNPACKED = 256;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    packed += i * PACKED;
    to += i * UNPACKED;
    int at = 0, end = 0;
    bool valid = true;
    while (at < PACKED) {
        int token = packed[at++], length = token & 127;
        if (length == 0) break;
        if (end + length > UNPACKED) { valid = false; break; }
        if (token < 128) {
            if (at + length > PACKED) { valid = false; break; }
            for (int k = 0; k < length; k++) to[end + k] = packed[at + k];
            at += length;
        } else {
            if (at >= PACKED || packed[at] > end) { valid = false; break; }
            int distance = packed[at++];
            for (int k = 0; k < length; k++) to[end + k] = to[end + k - distance];
        }
        end += length;
    }
    for (int k = valid ? end : 0; k < UNPACKED; k++) to[k] = valid ? 0 : 255;
}

extern "C" __global__ void utf8_scalars(const uint8_t* __restrict__ text, const unsigned* __restrict__ starts, int* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int at = starts[i], end = starts[i + 1], count = 0;
    while (at < end) {
        uint8_t c = text[at];
        int length = 0, low = 0x80, high = 0xbf;
        if (c < 0x80) length = 1;
        else if (c >= 0xc2 && c <= 0xdf) length = 2;
        else if (c >= 0xe0 && c <= 0xef) {
            length = 3;
            if (c == 0xe0) low = 0xa0;
            if (c == 0xed) high = 0x9f;
        } else if (c >= 0xf0 && c <= 0xf4) {
            length = 4;
            if (c == 0xf0) low = 0x90;
            if (c == 0xf4) high = 0x8f;
        }
        bool valid = length > 0 && at + length <= end;
        if (valid && length > 1) {
            valid = text[at + 1] >= low && text[at + 1] <= high;
            for (int k = 2; k < length; k++) valid = valid && (text[at + k] & 0xc0) == 0x80;
        }
        if (!valid) { count = -1; break; }
        at += length;
        count++;
    }
    to[i] = count;
}

extern "C" __global__ void gear_cuts(const uint8_t* __restrict__ data, const unsigned long long* __restrict__ gear,
                                     uint2* __restrict__ to, int n) {
    const int SEGMENT = 256;
    const unsigned long long CUT = 0xfull << 48;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    data += i * SEGMENT;
    unsigned long long hash = 0;
    unsigned count = 0, last = 0;
    for (int k = 0; k < SEGMENT; k++) {
        hash = (hash << 1) + gear[data[k]];
        if (k >= 64 && (hash & CUT) == 0) { count++; last = k; }
    }
    to[i] = make_uint2(count, last);
}

extern "C" __global__ void average_crossings(const int16_t* __restrict__ signals, unsigned* __restrict__ to, int n) {
    const int SAMPLES = 250;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    signals += i * SAMPLES;
    unsigned crossings = 0;
    bool before = false;
    for (int k = 0; k < SAMPLES - 7; k++) {
        int sum = 0;
        for (int j = 0; j < 8; j++) sum += signals[k + j];
        bool above = signals[k + 7] * 8 > sum;
        if (k > 0 && above != before) crossings++;
        before = above;
    }
    to[i] = crossings;
}

#define TAU 6.28318530717958647692f
__device__ __forceinline__ float turn(float angle) { return angle - TAU * floorf(angle / TAU); }

extern "C" __global__ __launch_bounds__(128) void dubins(const float* __restrict__ distances, const float* __restrict__ starts,
                                                        const float* __restrict__ ends, float* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float d = distances[i], a = starts[i], b = ends[i], sa, ca, sb, cb;
    sincosf(a, &sa, &ca);
    sincosf(b, &sb, &cb);
    float cab = cosf(a - b), best = INFINITY;
    float square = 2 + d * d - 2 * cab + 2 * d * (sa - sb);
    if (square >= 0) {
        float t = atan2f(cb - ca, d + sa - sb);
        best = fminf(best, turn(t - a) + sqrtf(square) + turn(b - t));
    }
    square = 2 + d * d - 2 * cab + 2 * d * (sb - sa);
    if (square >= 0) {
        float t = atan2f(ca - cb, d - sa + sb);
        best = fminf(best, turn(a - t) + sqrtf(square) + turn(t - b));
    }
    square = -2 + d * d + 2 * cab + 2 * d * (sa + sb);
    if (square >= 0) {
        float p = sqrtf(square), t = atan2f(-ca - cb, d + sa + sb) - atan2f(-2.0f, p);
        best = fminf(best, turn(t - a) + p + turn(t - b));
    }
    square = -2 + d * d + 2 * cab - 2 * d * (sa + sb);
    if (square >= 0) {
        float p = sqrtf(square), t = atan2f(ca + cb, d - sa - sb) - atan2f(2.0f, p);
        best = fminf(best, turn(a - t) + p + turn(b - t));
    }
    float cosine = (6 - d * d + 2 * cab + 2 * d * (sa - sb)) / 8;
    if (fabsf(cosine) <= 1) {
        float p = TAU - acosf(cosine), t = turn(a - atan2f(ca - cb, d - sa + sb) + p / 2);
        best = fminf(best, t + p + turn(a - b - t + p));
    }
    cosine = (6 - d * d + 2 * cab + 2 * d * (sb - sa)) / 8;
    if (fabsf(cosine) <= 1) {
        float p = TAU - acosf(cosine), t = turn(-a - atan2f(ca - cb, d + sa - sb) + p / 2);
        best = fminf(best, t + p + turn(b - a - t + p));
    }
    to[i] = best;
}

__device__ __forceinline__ unsigned runs_of(unsigned ranks) {
    ranks |= ranks >> 13 & 1;
    return ranks & ranks << 1 & ranks << 2 & ranks << 3 & ranks << 4;
}
__device__ __forceinline__ unsigned top_rank(unsigned bits) { return 30 - __clz(bits); }

extern "C" __global__ void poker_hands(const uint8_t* __restrict__ cards, unsigned* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint8_t counts[13] = {};
    unsigned suits[4] = {};
    for (int k = 0; k < 7; k++) {
        int card = cards[i * 7 + k];
        counts[card / 4]++;
        suits[card % 4] |= 2u << (card / 4);
    }
    unsigned ranks = suits[0] | suits[1] | suits[2] | suits[3], flush = 0;
    for (int k = 0; k < 4; k++)
        if (__popc(suits[k]) >= 5) flush = suits[k];
    int four = -1, three = -1, second_three = -1, pair = -1, second_pair = -1;
    for (int rank = 0; rank < 13; rank++) {
        if (counts[rank] == 4) four = rank;
        else if (counts[rank] == 3) { second_three = three; three = rank; }
        else if (counts[rank] == 2) { second_pair = pair; pair = rank; }
    }
    int below = max(pair, second_three);
    unsigned score;
    if (flush && runs_of(flush)) score = 8 << 8 | top_rank(runs_of(flush)) << 4;
    else if (four >= 0) score = 7 << 8 | four << 4;
    else if (three >= 0 && below >= 0) score = 6 << 8 | three << 4 | below;
    else if (flush) score = 5 << 8 | top_rank(flush) << 4;
    else if (runs_of(ranks)) score = 4 << 8 | top_rank(runs_of(ranks)) << 4;
    else if (three >= 0) score = 3 << 8 | three << 4;
    else if (second_pair >= 0) score = 2 << 8 | pair << 4 | second_pair;
    else if (pair >= 0) score = 1 << 8 | pair << 4;
    else score = top_rank(ranks) << 4;
    to[i] = score;
}

extern "C" __global__ void lru_misses(const uint16_t* __restrict__ trace, int length, unsigned* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int ways = i % 8 + 1, shift = i / 8 % 8, set = i / 64 % 16, offset = i / 1024;
    int lines[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
    unsigned misses = 0;
    for (int k = 0; k < length; k++) {
        int line = ((trace[k] + offset) & 0xffff) >> shift;
        if (line % 16 != set) continue;
        int place = 0;
        while (place < ways && lines[place] != line) place++;
        if (place == ways) { misses++; place = ways - 1; }
        for (; place > 0; place--) lines[place] = lines[place - 1];
        lines[0] = line;
    }
    to[i] = misses;
}

extern "C" __global__ void fractions(long long limit, const double* __restrict__ numbers, long long* __restrict__ numerators,
                                     long long* __restrict__ denominators, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double rest = numbers[i];
    long long p0 = 0, q0 = 1, p1 = 1, q1 = 0;
    while (true) {
        double whole = floor(rest);
        long long term = (long long)whole, p2 = term * p1 + p0, q2 = term * q1 + q0;
        if (q2 > limit) break;
        p0 = p1; q0 = q1; p1 = p2; q1 = q2;
        if (rest - whole < 1e-9) break;
        rest = 1.0 / (rest - whole);
    }
    numerators[i] = p1;
    denominators[i] = q1;
}

__device__ __forceinline__ long long floor_div(long long a, long long b) { return a / b - (a % b < 0); }

extern "C" __global__ void iso_week(const long long* __restrict__ seconds, long long* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    long long day = floor_div(seconds[i], 86400), weekday = day + 3 - floor_div(day + 3, 7) * 7;
    long long thursday = day - weekday + 3, days = thursday + 719468;
    long long era = floor_div(days, 146097), in_era = days - era * 146097;
    long long year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    long long in_year = in_era - (365 * year + year / 4 - year / 100), month = (5 * in_year + 2) / 153;
    year += era * 400 + (month >= 10);
    long long march = year - 1, march_era = floor_div(march, 400);
    in_era = march - march_era * 400;
    long long first = march_era * 146097 + in_era * 365 + in_era / 4 - in_era / 100 + 306 - 719468;
    to[i] = year * 1000 + ((thursday - first) / 7 + 1) * 10 + weekday + 1;
}

extern "C" __global__ void wide_roots(const unsigned long long* __restrict__ a, const unsigned long long* __restrict__ b,
                                      unsigned long long* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned __int128 rest = (unsigned __int128)a[i] * b[i], root = 0;
    for (unsigned __int128 bit = (unsigned __int128)1 << 126; bit != 0; bit >>= 2) {
        unsigned __int128 trial = root + bit;
        root >>= 1;
        if (rest >= trial) { rest -= trial; root += bit; }
    }
    to[i] = (unsigned long long)root;
}

extern "C" __global__ void chebyshev(const float* __restrict__ breaks, int pieces, const float* __restrict__ coefficients,
                                     const float* __restrict__ xs, float* __restrict__ to, int n) {
    const int DEGREES = 12;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = xs[i], value = 0;
    if (x >= breaks[0] && x < breaks[pieces]) {
        int piece = 0, end = pieces;
        while (end - piece > 1) {
            int middle = (piece + end) / 2;
            if (breaks[middle] <= x) piece = middle;
            else end = middle;
        }
        float low = breaks[piece], high = breaks[piece + 1];
        const float* c = coefficients + piece * DEGREES;
        float t = (2 * x - low - high) / (high - low), b1 = 0, b2 = 0;
        for (int k = DEGREES - 1; k > 0; k--) {
            float b = 2 * t * b1 - b2 + c[k];
            b2 = b1;
            b1 = b;
        }
        value = c[0] + t * b1 - b2;
    }
    to[i] = value;
}

extern "C" __global__ void query_values(const uint8_t* __restrict__ text, const unsigned* __restrict__ starts,
                                        const uint8_t* __restrict__ key, int key_length, unsigned* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int at = starts[i], end = starts[i + 1];
    unsigned result = ~0u;
    while (at < end) {
        int k = 0;
        while (k < key_length && at + k < end && text[at + k] == key[k]) k++;
        if (k == key_length && at + k < end && text[at + k] == '=') {
            at += k + 1;
            int start = at;
            unsigned number = 0;
            while (at < end && is_digit(text[at])) number = number * 10 + (text[at++] - '0');
            if (at > start && (at == end || text[at] == '&')) result = number;
            break;
        }
        while (at < end && text[at] != '&') at++;
        at++;
    }
    to[i] = result;
}

extern "C" __global__ void trimmed_mean(const uint16_t* __restrict__ from, float* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint16_t values[16];
    for (int k = 0; k < 16; k++) {
        uint16_t x = from[i * 16 + k];
        int place = k;
        for (; place > 0 && values[place - 1] > x; place--) values[place] = values[place - 1];
        values[place] = x;
    }
    unsigned sum = 0;
    for (int k = 4; k < 12; k++) sum += values[k];
    to[i] = sum / 8.0f;
}

extern "C" __global__ void longest_ascent(const uint16_t* __restrict__ rows, int width, unsigned* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    rows += i * width;
    int longest = 0, length = 0, before = 0;
    for (int k = 0; k < width; k++) {
        int x = rows[k];
        length = x >= before ? length + 1 : 1;
        longest = max(longest, length);
        before = x;
    }
    to[i] = longest;
}

extern "C" __global__ void holt_columns(const float* __restrict__ from, float* __restrict__ to, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= width) return;
    float level = from[x], trend = 0;
    for (int y = 0; y < height; y++) {
        float forecast = level + trend;
        float next = forecast + 0.4f * (from[y * width + x] - forecast);
        trend += 0.2f * (next - level - trend);
        level = next;
        to[y * width + x] = forecast;
    }
}

extern "C" __global__ void newton_half(const __half2* __restrict__ from, __half2* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const __half2 half = __float2half2_rn(0.5f), three_halves = __float2half2_rn(1.5f), step = __float2half2_rn(0.125f);
    __half2 x = from[i], sum = __float2half2_rn(0.0f);
    for (int k = 0; k < 16; k++) {
        __half2 y = half;
        for (int round = 0; round < 5; round++) y = y * (three_halves - half * x * y * y);
        sum = sum + y;
        x = x + step;
    }
    to[i] = sum;
}

extern "C" __global__ __launch_bounds__(256) void warp_median(const unsigned* __restrict__ rows, unsigned* __restrict__ to, int n) {
    int number = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (number >= n) return;
    unsigned own[16];
    for (int k = 0; k < 16; k++) own[k] = rows[number * 512 + 32 * k + lane];
    unsigned found = 0;
    for (unsigned bit = 1u << 31; bit != 0; bit >>= 1) {
        unsigned below = 0;
        for (int k = 0; k < 16; k++) below += own[k] < (found | bit);
        if (__reduce_add_sync(FULL, below) < 256) found |= bit;
    }
    if (lane == 0) to[number] = found;
}

extern "C" __global__ __launch_bounds__(256) void requantize_taps(int zero, const int8_t* __restrict__ from,
                                                                 const int8_t* __restrict__ weights, const int* __restrict__ factors,
                                                                 const uint8_t* __restrict__ shifts, int width, int8_t* __restrict__ to) {
    const int TAPS = 25;
    int x = blockIdx.x * blockDim.x + threadIdx.x, channel = blockIdx.y;
    if (x >= width) return;
    int pitch = width + TAPS - 1, sum = 0;
    for (int k = 0; k < TAPS; k++) sum += (from[channel * pitch + x + k] - zero) * weights[channel * TAPS + k];
    int shift = shifts[channel];
    long long product = (long long)sum * factors[channel];
    long long rounded = (product + (1ll << (shift - 1))) >> shift;
    to[channel * width + x] = (int8_t)min(max(rounded, -128ll), 127ll);
}

extern "C" __global__ __launch_bounds__(256) void wireworld(const uint8_t* __restrict__ from, uint8_t* __restrict__ to) {
    __shared__ uint8_t buffers[2][32][32];
    uint8_t(*now)[32] = buffers[0], (*next)[32] = buffers[1];
    from += blockIdx.x * 1024;
    to += blockIdx.x * 1024;
    int x = threadIdx.x, left = (x + 31) % 32, right = (x + 1) % 32;
    for (int y = threadIdx.y; y < 32; y += 8) now[y][x] = from[y * 32 + x];
    __syncthreads();
    for (int generation = 0; generation < 24; generation++) {
        for (int y = threadIdx.y; y < 32; y += 8) {
            int heads = 0;
            for (int dy = 31; dy <= 33; dy++) {
                const uint8_t* row = now[(y + dy) % 32];
                heads += (row[left] == 1) + (row[x] == 1) + (row[right] == 1);
            }
            uint8_t cell = now[y][x];
            next[y][x] = cell == 0 ? 0 : cell == 1 ? 2 : cell == 2 ? 3 : heads == 1 || heads == 2 ? 1 : 3;
        }
        __syncthreads();
        uint8_t(*swapped)[32] = now;
        now = next;
        next = swapped;
    }
    for (int y = threadIdx.y; y < 32; y += 8) to[y * 32 + x] = now[y][x];
}

extern "C" __global__ void set_difference(const unsigned* __restrict__ a, const unsigned* __restrict__ a_starts,
                                          const unsigned* __restrict__ b, const unsigned* __restrict__ b_starts,
                                          unsigned* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int p = a_starts[i], p_end = a_starts[i + 1], q = b_starts[i], q_end = b_starts[i + 1];
    int count = 0;
    while (p < p_end && q < q_end) {
        unsigned x = a[p], y = b[q];
        p += x <= y;
        q += x >= y;
        count += x != y;
    }
    to[i] = count + (p_end - p) + (q_end - q);
}

template <unsigned long long M>
__device__ __forceinline__ bool is_residue(unsigned long long base, unsigned long long degree) {
    unsigned long long exponent = (M - 1) / degree, result = 1;
    base %= M;
    while (exponent > 0) {
        if (exponent % 2 == 1) result = result * base % M;
        base = base * base % M;
        exponent /= 2;
    }
    return result == 1;
}

extern "C" __global__ void power_residues(unsigned long long first, unsigned* __restrict__ to, int n) {
    const unsigned long long P = 4294967291ull, Q = 4294967231ull;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long x = first + i;
    unsigned bits = is_residue<P>(x, 2);
    bits = bits << 1 | is_residue<P>(x, 5);
    bits = bits << 1 | is_residue<Q>(x, 2);
    bits = bits << 1 | is_residue<Q>(x, 5);
    to[i] = bits;
}

extern "C" __global__ __launch_bounds__(128) void below_peak(const int* __restrict__ from, int width, int* __restrict__ to, int rows) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    from += row * width;
    to += row * width;
    int peak = INT32_MIN;
    for (int start = 0; start < width; start += 32) {
        int i = start + lane;
        int x = i < width ? from[i] : INT32_MIN, here = max(x, peak);
        for (int d = 1; d < 32; d *= 2) here = max(here, __shfl_up_sync(FULL, here, d));
        if (i < width) to[i] = here - x;
        peak = __shfl_sync(FULL, here, 31);
    }
}

extern "C" __global__ void decimal_fields(const long long* __restrict__ numbers, uint8_t* __restrict__ to, int n) {
    const int FIELD = 24;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    long long number = numbers[i];
    unsigned long long rest = number < 0 ? 0ull - number : number;
    to += i * FIELD;
    int at = FIELD;
    do {
        to[--at] = '0' + rest % 10;
        rest /= 10;
    } while (rest != 0);
    if (number < 0) to[--at] = '-';
    while (at > 0) to[--at] = ' ';
}

extern "C" __global__ void gene_chain(const unsigned* __restrict__ genomes, const float* __restrict__ inputs, float* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned genome = genomes[i];
    float x = inputs[i];
    for (int k = 0; k < 10; k++) {
        x = 1.3f * x + 0.1f;
        switch (genome >> (3 * k) & 7) {
        case 0: break;
        case 1: x = tanhf(x); break;
        case 2: x = fmaxf(x, 0.0f); break;
        case 3: x = 1.0f / (1.0f + expf(-x)); break;
        case 4: x = sinf(x); break;
        case 5: x = expf(-x * x); break;
        case 6: x = fabsf(x); break;
        default: x = x / (1.0f + fabsf(x));
        }
    }
    to[i] = x;
}

extern "C" __global__ void symmetric_fir(const double* __restrict__ signal, const double* __restrict__ half, double* __restrict__ to, int n) {
    const int HALF_TAPS = 64;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double sum = 0;
    for (int k = 0; k < HALF_TAPS; k++) sum += half[k] * (signal[i + k] + signal[i + 2 * HALF_TAPS - 1 - k]);
    to[i] = sum;
}

__device__ __forceinline__ uint8_t filmic(uint8_t byte) {
    float x = powf(byte / 255.0f, 2.2f);
    x = x * (2.51f * x + 0.03f) / (x * (2.43f * x + 0.59f) + 0.14f);
    return (uint8_t)(powf(fminf(fmaxf(x, 0.0f), 1.0f), 1.0f / 2.2f) * 255.0f + 0.5f);
}

extern "C" __global__ void filmic_pixels(float opacity, const uchar4* __restrict__ from, uchar4* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uchar4 pixel = from[i];
    to[i] = make_uchar4(filmic(pixel.x), filmic(pixel.y), filmic(pixel.z), (uint8_t)(pixel.w * opacity + 0.5f));
}
