// One result per thread: see benches/kernels/src/threads.rs.

#include <cuda_fp16.h>
#include <math_constants.h>
#include <stdint.h>

// SipHash-2-4

struct SipState {
    uint64_t v0, v1, v2, v3;
};

__device__ __forceinline__ uint64_t rotl64(uint64_t x, int n) { return (x << n) | (x >> (64 - n)); }

__device__ __forceinline__ void sip_round(SipState& s) {
    s.v0 += s.v1;
    s.v1 = rotl64(s.v1, 13) ^ s.v0;
    s.v0 = rotl64(s.v0, 32);
    s.v2 += s.v3;
    s.v3 = rotl64(s.v3, 16) ^ s.v2;
    s.v0 += s.v3;
    s.v3 = rotl64(s.v3, 21) ^ s.v0;
    s.v2 += s.v1;
    s.v1 = rotl64(s.v1, 17) ^ s.v2;
    s.v2 = rotl64(s.v2, 32);
}

__device__ __forceinline__ void sip_compress(SipState& s, uint64_t word) {
    s.v3 ^= word;
    sip_round(s);
    sip_round(s);
    s.v0 ^= word;
}

extern "C" __global__ void __launch_bounds__(128)
    siphash(uint64_t k0, uint64_t k1, const uint8_t* __restrict__ bytes,
            const uint32_t* __restrict__ ends, uint64_t* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t start = i == 0 ? 0 : ends[i - 1];
    int len = ends[i] - start;
    const uint8_t* message = bytes + start;
    SipState s = {k0 ^ 0x736f6d6570736575ull, k1 ^ 0x646f72616e646f6dull,
                  k0 ^ 0x6c7967656e657261ull, k1 ^ 0x7465646279746573ull};
    int words = len / 8;
    for (int w = 0; w < words; w++) {
        uint64_t word = 0;
        for (int k = 0; k < 8; k++) word |= (uint64_t)message[8 * w + k] << (8 * k);
        sip_compress(s, word);
    }
    uint64_t last = (uint64_t)len << 56;
    for (int k = 0; k < len % 8; k++) last |= (uint64_t)message[8 * words + k] << (8 * k);
    sip_compress(s, last);
    s.v2 ^= 0xff;
    for (int k = 0; k < 4; k++) sip_round(s);
    to[i] = s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

// Kepler's equation

struct Orbit {
    double axis, eccentricity, anomaly, motion;
};

extern "C" __global__ void __launch_bounds__(128)
    kepler(double time, const Orbit* __restrict__ orbits, double2* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const double tau = 6.283185307179586476925286766559, pi = 3.1415926535897932384626433832795;
    Orbit orbit = orbits[i];
    double e = orbit.eccentricity;
    double mean = fmod(orbit.anomaly + orbit.motion * time, tau);
    if (mean < 0.0) mean += tau;
    double guess = e < 0.8 ? mean : pi;
    bool converged = false;
    for (int k = 0; k < 20; k++) {
        double s, c;
        sincos(guess, &s, &c);
        double step = (guess - e * s - mean) / (1.0 - e * c);
        guess -= step;
        if (fabs(step) < 1e-12) {
            converged = true;
            break;
        }
    }
    if (!converged) {
        to[i] = make_double2(CUDART_NAN, CUDART_NAN);
        return;
    }
    double s, c;
    sincos(guess, &s, &c);
    to[i] = make_double2(orbit.axis * (c - e), orbit.axis * sqrt(1.0 - e * e) * s);
}

// Kuwahara filter

#define KUWAHARA 3

extern "C" __global__ void __launch_bounds__(256)
    kuwahara(const uint8_t* __restrict__ image, float* __restrict__ to, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float best = CUDART_INF_F, result = 0.0f;
    for (int quadrant = 0; quadrant < 4; quadrant++) {
        int left = quadrant % 2 == 0 ? x - KUWAHARA : x;
        int top = quadrant < 2 ? y - KUWAHARA : y;
        float sum = 0.0f, squares = 0.0f;
        for (int dy = 0; dy <= KUWAHARA; dy++) {
            int row = min(max(top + dy, 0), height - 1);
            for (int dx = 0; dx <= KUWAHARA; dx++) {
                int column = min(max(left + dx, 0), width - 1);
                float pixel = image[row * width + column];
                sum += pixel;
                squares += pixel * pixel;
            }
        }
        const float count = (KUWAHARA + 1) * (KUWAHARA + 1);
        float mean = sum / count;
        float variance = squares / count - mean * mean;
        if (variance < best) {
            best = variance;
            result = mean;
        }
    }
    to[y * width + x] = result;
}

// Random forest

struct Node {
    uint32_t kind; // 0: split, 1: leaf
    union {
        struct {
            uint32_t feature;
            float threshold;
            uint32_t left, right;
        } split;
        uint32_t leaf;
    };
};

#define CLASSES 8
#define FEATURES 16

extern "C" __global__ void __launch_bounds__(256)
    forest_vote(const Node* __restrict__ nodes, const uint32_t* __restrict__ roots, int trees,
                const float* __restrict__ samples, uint32_t* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float* sample = samples + i * FEATURES;
    uint32_t votes[CLASSES] = {};
    for (int tree = 0; tree < trees; tree++) {
        const Node* node = &nodes[roots[tree]];
        while (node->kind == 0) {
            uint32_t next = sample[node->split.feature] < node->split.threshold ? node->split.left
                                                                                : node->split.right;
            node = &nodes[next];
        }
        votes[node->leaf]++;
    }
    int best = 0;
    for (int c = 1; c < CLASSES; c++)
        if (votes[c] > votes[best]) best = c;
    to[i] = best;
}

// Distances of capsules

__device__ __forceinline__ float3 operator+(float3 a, float3 b) {
    return make_float3(a.x + b.x, a.y + b.y, a.z + b.z);
}
__device__ __forceinline__ float3 operator-(float3 a, float3 b) {
    return make_float3(a.x - b.x, a.y - b.y, a.z - b.z);
}
__device__ __forceinline__ float3 operator*(float3 a, float f) {
    return make_float3(a.x * f, a.y * f, a.z * f);
}
__device__ __forceinline__ float dot(float3 a, float3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
__device__ __forceinline__ float3 cross(float3 a, float3 b) {
    return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
__device__ __forceinline__ float length(float3 a) { return sqrtf(dot(a, a)); }
__device__ __forceinline__ float clampf(float x, float low, float high) {
    return fminf(fmaxf(x, low), high);
}

struct Capsule {
    float3 from, to;
    float radius;
};

__device__ float capsule_distance(const Capsule& p, const Capsule& q) {
    float3 d1 = p.to - p.from, d2 = q.to - q.from, r = p.from - q.from;
    float a = dot(d1, d1), e = dot(d2, d2);
    float b = dot(d1, d2), c = dot(d1, r), f = dot(d2, r);
    float determinant = a * e - b * b;
    float s = determinant > 1e-6f ? clampf((b * f - c * e) / determinant, 0.0f, 1.0f) : 0.0f;
    float t = (b * s + f) / e;
    if (t < 0.0f) {
        t = 0.0f;
        s = clampf(-c / a, 0.0f, 1.0f);
    } else if (t > 1.0f) {
        t = 1.0f;
        s = clampf((b - c) / a, 0.0f, 1.0f);
    }
    return length((p.from + d1 * s) - (q.from + d2 * t)) - p.radius - q.radius;
}

extern "C" __global__ void __launch_bounds__(128)
    capsule_clearance(const Capsule* __restrict__ links, const Capsule* __restrict__ obstacles,
                      int count, float* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Capsule link = links[i];
    float clearance = CUDART_INF_F;
    for (int o = 0; o < count; o++) clearance = fminf(clearance, capsule_distance(link, obstacles[o]));
    to[i] = clearance;
}

// Open reading frames

extern "C" __global__ void __launch_bounds__(128)
    longest_orf(const char* __restrict__ reads, int length, ushort2* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const char* read = reads + (size_t)i * length;
    int best_start = 0, best_codons = -1;
    for (int frame = 0; frame < 3; frame++) {
        int start = -1;
        for (int p = frame; p + 3 <= length; p += 3) {
            char a = read[p], b = read[p + 1], c = read[p + 2];
            if (start < 0) {
                if (a == 'A' && b == 'T' && c == 'G') start = p;
            } else if (a == 'T' && ((b == 'A' && (c == 'A' || c == 'G')) || (b == 'G' && c == 'A'))) {
                int codons = (p - start) / 3;
                if (codons > best_codons || (codons == best_codons && start < best_start)) {
                    best_codons = codons;
                    best_start = start;
                }
                start = -1;
            }
        }
    }
    to[i] = make_ushort2(best_start, max(best_codons, 0));
}

// Sudoku

extern "C" __global__ void __launch_bounds__(128)
    sudoku(const uint8_t* __restrict__ puzzles, uint8_t* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const uint8_t* puzzle = puzzles + 81 * i;
    uint8_t cells[81];
    uint16_t rows[9] = {}, columns[9] = {}, boxes[9] = {};
    for (int at = 0; at < 81; at++) {
        uint8_t digit = puzzle[at];
        cells[at] = digit;
        if (digit != 0) {
            int row = at / 9, column = at % 9;
            rows[row] |= 1 << digit;
            columns[column] |= 1 << digit;
            boxes[row / 3 * 3 + column / 3] |= 1 << digit;
        }
    }
    int empty = 0;
    bool changed = true;
    while (changed) {
        changed = false;
        empty = 0;
        for (int at = 0; at < 81; at++) {
            if (cells[at] != 0) continue;
            int row = at / 9, column = at % 9, box = row / 3 * 3 + column / 3;
            unsigned candidates = ~(rows[row] | columns[column] | boxes[box]) & 0x3fe;
            int count = __popc(candidates);
            if (count == 0) {
                to[i] = 255;
                return;
            }
            if (count == 1) {
                cells[at] = __ffs(candidates) - 1;
                rows[row] |= candidates;
                columns[column] |= candidates;
                boxes[box] |= candidates;
                changed = true;
            } else {
                empty++;
            }
        }
    }
    to[i] = empty;
}

// Burning ship

__device__ __forceinline__ int fixed_mul(int a, int b) { return (int)((long long)a * b >> 24); }

extern "C" __global__ void __launch_bounds__(256)
    burning_ship(float left, float top, float pixel, int limit, uint16_t* __restrict__ to,
                 int width, int height) {
    int px = blockIdx.x * blockDim.x + threadIdx.x;
    int py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height) return;
    int cx = (int)((left + px * pixel) * 16777216.0f);
    int cy = (int)((top + py * pixel) * 16777216.0f);
    int x = 0, y = 0, steps = 0;
    while (steps < limit) {
        steps++;
        x = abs(x);
        y = abs(y);
        int xx = fixed_mul(x, x), yy = fixed_mul(y, y), xy = fixed_mul(x, y);
        if (xx + yy > 4 << 24) break;
        x = xx - yy + cx;
        y = xy + xy + cy;
    }
    to[py * width + px] = steps;
}

// Primality

__constant__ uint64_t SMALL_PRIMES[8] = {2, 3, 5, 7, 11, 13, 17, 19};
__constant__ uint64_t WITNESSES[4] = {2, 13, 23, 1662803};

__device__ __forceinline__ uint64_t mul_mod(uint64_t a, uint64_t b, uint64_t m) {
    return (uint64_t)((unsigned __int128)a * b % m);
}

__device__ uint64_t pow_mod(uint64_t base, uint64_t exponent, uint64_t m) {
    uint64_t result = 1;
    while (exponent > 0) {
        if (exponent & 1) result = mul_mod(result, base, m);
        base = mul_mod(base, base, m);
        exponent >>= 1;
    }
    return result;
}

__device__ bool is_prime(uint64_t n) {
    if (n < 2) return false;
    for (int k = 0; k < 8; k++)
        if (n % SMALL_PRIMES[k] == 0) return n == SMALL_PRIMES[k];
    int twos = __ffsll(n - 1) - 1;
    uint64_t odd = (n - 1) >> twos;
    for (int k = 0; k < 4; k++) {
        uint64_t x = pow_mod(WITNESSES[k] % n, odd, n);
        if (x == 0 || x == 1 || x == n - 1) continue;
        bool passes = false;
        for (int t = 1; t < twos && !passes; t++) {
            x = mul_mod(x, x, n);
            passes = x == n - 1;
        }
        if (!passes) return false;
    }
    return true;
}

extern "C" __global__ void __launch_bounds__(128)
    miller_rabin(const uint64_t* __restrict__ numbers, uint8_t* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = is_prime(numbers[i]);
}

// Reed-Solomon

struct Powers {
    uint8_t log[256], exp[512];
    constexpr Powers() : log(), exp() {
        int x = 1;
        for (int i = 0; i < 255; i++) {
            exp[i] = exp[i + 255] = x;
            log[x] = i;
            x <<= 1;
            if (x > 255) x ^= 0x11d;
        }
    }
};

__device__ const Powers POWERS = Powers();

#define SYNDROMES 8
#define CODE_WORD 255

__device__ __forceinline__ uint8_t gf_mul(uint8_t a, uint8_t b) {
    return a == 0 || b == 0 ? 0 : POWERS.exp[POWERS.log[a] + POWERS.log[b]];
}

extern "C" __global__ void __launch_bounds__(128)
    reed_solomon(const uint8_t* __restrict__ words, uint8_t* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const uint8_t* word = words + i * CODE_WORD;
    uint8_t syndromes[SYNDROMES] = {};
    for (int k = 0; k < CODE_WORD; k++) {
        uint8_t byte = word[k];
        for (int j = 0; j < SYNDROMES; j++)
            syndromes[j] = gf_mul(syndromes[j], POWERS.exp[j]) ^ byte;
    }
    for (int j = 0; j < SYNDROMES; j++) to[i * SYNDROMES + j] = syndromes[j];
}

// Base 58

__device__ const char BASE58[59] = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
#define DIGITS 44

extern "C" __global__ void __launch_bounds__(128)
    base58(const uint8_t* __restrict__ keys, char* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint8_t digits[DIGITS] = {};
    int len = 0;
    for (int k = 0; k < 32; k++) {
        unsigned carry = keys[32 * i + k];
        for (int d = 0; d < len; d++) {
            carry += (unsigned)digits[d] << 8;
            digits[d] = carry % 58;
            carry /= 58;
        }
        while (carry > 0) {
            digits[len++] = carry % 58;
            carry /= 58;
        }
    }
    for (int d = 0; d < DIGITS; d++) to[DIGITS * i + d] = BASE58[digits[DIGITS - 1 - d]];
}

// Kalman filter

template <int R, int C> struct Matrix {
    float m[R][C];
};

template <int R, int K, int C>
__device__ __forceinline__ Matrix<R, C> operator*(const Matrix<R, K>& a, const Matrix<K, C>& b) {
    Matrix<R, C> to;
#pragma unroll
    for (int r = 0; r < R; r++)
#pragma unroll
        for (int c = 0; c < C; c++) {
            float sum = 0.0f;
#pragma unroll
            for (int k = 0; k < K; k++) sum += a.m[r][k] * b.m[k][c];
            to.m[r][c] = sum;
        }
    return to;
}

template <int R, int C>
__device__ __forceinline__ Matrix<R, C> operator+(const Matrix<R, C>& a, const Matrix<R, C>& b) {
    Matrix<R, C> to;
#pragma unroll
    for (int r = 0; r < R; r++)
#pragma unroll
        for (int c = 0; c < C; c++) to.m[r][c] = a.m[r][c] + b.m[r][c];
    return to;
}

template <int R, int C>
__device__ __forceinline__ Matrix<R, C> operator-(const Matrix<R, C>& a, const Matrix<R, C>& b) {
    Matrix<R, C> to;
#pragma unroll
    for (int r = 0; r < R; r++)
#pragma unroll
        for (int c = 0; c < C; c++) to.m[r][c] = a.m[r][c] - b.m[r][c];
    return to;
}

template <int R, int C>
__device__ __forceinline__ Matrix<C, R> transposed(const Matrix<R, C>& a) {
    Matrix<C, R> to;
#pragma unroll
    for (int r = 0; r < R; r++)
#pragma unroll
        for (int c = 0; c < C; c++) to.m[c][r] = a.m[r][c];
    return to;
}

template <int N> __device__ __forceinline__ Matrix<N, N> diagonal(float value) {
    Matrix<N, N> to;
#pragma unroll
    for (int r = 0; r < N; r++)
#pragma unroll
        for (int c = 0; c < N; c++) to.m[r][c] = r == c ? value : 0.0f;
    return to;
}

extern "C" __global__ void __launch_bounds__(128)
    kalman_track(float dt, float noise, const float2* __restrict__ measurements, int steps,
                 float4* __restrict__ to, int objects) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= objects) return;
    float2 first = measurements[i];
    Matrix<4, 1> state = {{{first.x}, {first.y}, {0.0f}, {0.0f}}};
    Matrix<4, 4> covariance = diagonal<4>(10.0f);
    const Matrix<4, 4> motion = {
        {{1.0f, 0.0f, dt, 0.0f}, {0.0f, 1.0f, 0.0f, dt}, {0.0f, 0.0f, 1.0f, 0.0f}, {0.0f, 0.0f, 0.0f, 1.0f}}};
    const Matrix<2, 4> measure = {{{1.0f, 0.0f, 0.0f, 0.0f}, {0.0f, 1.0f, 0.0f, 0.0f}}};
    for (int t = 1; t < steps; t++) {
        float2 z = measurements[t * objects + i];
        state = motion * state;
        covariance = motion * covariance * transposed(motion) + diagonal<4>(0.01f * dt);
        Matrix<2, 1> innovation = Matrix<2, 1>{{{z.x}, {z.y}}} - measure * state;
        Matrix<2, 2> u = measure * covariance * transposed(measure) + diagonal<2>(noise);
        float f = 1.0f / (u.m[0][0] * u.m[1][1] - u.m[0][1] * u.m[1][0]);
        Matrix<2, 2> inverse = {{{u.m[1][1] * f, -u.m[0][1] * f}, {-u.m[1][0] * f, u.m[0][0] * f}}};
        Matrix<4, 2> gain = covariance * transposed(measure) * inverse;
        state = state + gain * innovation;
        covariance = (diagonal<4>(1.0f) - gain * measure) * covariance;
    }
    to[i] = make_float4(state.m[0][0], state.m[1][0], state.m[2][0], state.m[3][0]);
}

// Bonds

__device__ __forceinline__ void bond_value(double rate, double coupon, int payments,
                                           double frequency, double* value, double* slope) {
    double discount = 1.0 / (1.0 + rate / frequency);
    double factor = 1.0, v = 0.0, s = 0.0;
    for (int k = 1; k <= payments; k++) {
        factor *= discount;
        double paid = coupon * factor;
        v += paid;
        s += k * paid;
    }
    s += payments * 100.0 * factor;
    *value = v + 100.0 * factor;
    *slope = -s * discount / frequency;
}

extern "C" __global__ void __launch_bounds__(128)
    bond_yield(const double* __restrict__ prices, const double* __restrict__ coupons,
               const uint8_t* __restrict__ years, const uint8_t* __restrict__ frequencies,
               double2* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int per_year;
    switch (frequencies[i]) {
    case 0: per_year = 1; break;
    case 1: per_year = 2; break;
    case 2: per_year = 4; break;
    default: per_year = 12; break;
    }
    double frequency = per_year, price = prices[i], coupon = coupons[i] / frequency;
    int payments = years[i] * per_year;
    double rate = coupon * frequency / price, value, slope;
    bool found = false;
    for (int k = 0; k < 20; k++) {
        bond_value(rate, coupon, payments, frequency, &value, &slope);
        double step = (value - price) / slope;
        rate -= step;
        if (rate <= -0.9) break;
        if (fabs(step) < 1e-10) {
            found = true;
            break;
        }
    }
    if (!found) {
        to[i] = make_double2(-1.0, -1.0);
        return;
    }
    bond_value(rate, coupon, payments, frequency, &value, &slope);
    to[i] = make_double2(rate, -slope / value);
}

// Poly1305

typedef unsigned __int128 uint128;

struct Poly {
    uint64_t h0, h1, h2, r0, r1;
};

__device__ __forceinline__ void poly_block(Poly& p, uint64_t low, uint64_t high, uint64_t above) {
    uint128 sum = (uint128)p.h0 + low;
    uint64_t h0 = (uint64_t)sum;
    sum = (uint128)p.h1 + high + (uint64_t)(sum >> 64);
    uint64_t h1 = (uint64_t)sum;
    uint64_t h2 = p.h2 + (uint64_t)(sum >> 64) + above;
    uint64_t s1 = p.r1 + (p.r1 >> 2);
    uint128 d0 = (uint128)h0 * p.r0 + (uint128)h1 * s1;
    uint128 d1 = (uint128)h0 * p.r1 + (uint128)h1 * p.r0 + (uint128)h2 * s1 + (d0 >> 64);
    h2 = h2 * p.r0 + (uint64_t)(d1 >> 64);
    sum = (uint128)(uint64_t)d0 + ((h2 >> 2) + (h2 & ~3ull));
    p.h0 = (uint64_t)sum;
    sum = (uint128)(uint64_t)d1 + (uint64_t)(sum >> 64);
    p.h1 = (uint64_t)sum;
    p.h2 = (h2 & 3) + (uint64_t)(sum >> 64);
}

extern "C" __global__ void __launch_bounds__(128)
    poly1305(uint64_t r0, uint64_t r1, int length, const uint8_t* __restrict__ messages,
             const uint128* __restrict__ nonces, uint128* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const uint8_t* message = messages + (size_t)i * length;
    Poly p = {0, 0, 0, r0 & 0x0ffffffc0fffffffull, r1 & 0x0ffffffc0ffffffcull};
    int at = 0;
    for (; at + 16 <= length; at += 16) {
        uint64_t low = 0, high = 0;
        for (int k = 0; k < 8; k++) low |= (uint64_t)message[at + k] << (8 * k);
        for (int k = 0; k < 8; k++) high |= (uint64_t)message[at + 8 + k] << (8 * k);
        poly_block(p, low, high, 1);
    }
    if (at < length) {
        uint128 block = 0;
        int len = length - at;
        for (int k = 0; k < len; k++) block |= (uint128)message[at + k] << (8 * k);
        block |= (uint128)1 << (8 * len);
        poly_block(p, (uint64_t)block, (uint64_t)(block >> 64), 0);
    }
    uint128 h = (uint128)p.h1 << 64 | p.h0;
    uint128 reduced = h + 5;
    if (p.h2 + (reduced < h) >= 4) h = reduced;
    to[i] = h + nonces[i];
}

// Wildcards

extern "C" __global__ void __launch_bounds__(128)
    glob_match(const char* __restrict__ pattern, int pattern_len, const char* __restrict__ text,
               const uint32_t* __restrict__ ends, bool* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int t = i == 0 ? 0 : ends[i - 1], end = ends[i];
    int p = 0, star = -1, from = 0;
    while (t < end) {
        if (p < pattern_len && pattern[p] == '*') {
            star = p++;
            from = t;
        } else if (p < pattern_len && (pattern[p] == '?' || pattern[p] == text[t])) {
            p++;
            t++;
        } else if (star >= 0) {
            p = star + 1;
            t = ++from;
        } else {
            to[i] = false;
            return;
        }
    }
    while (p < pattern_len && pattern[p] == '*') p++;
    to[i] = p == pattern_len;
}

// Similarity of names

#define NAME 24

extern "C" __global__ void __launch_bounds__(128)
    jaro_winkler(const char* __restrict__ searched, int searched_len,
                 const char* __restrict__ names, const uint8_t* __restrict__ lengths,
                 float* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const char *a = searched, *b = names + i * NAME;
    int la = searched_len, lb = lengths[i];
    if (la == 0 || lb == 0) {
        to[i] = 0.0f;
        return;
    }
    int reach = max(max(la, lb) / 2 - 1, 0);
    bool in_a[NAME] = {}, in_b[NAME] = {};
    int common = 0;
    for (int x = 0; x < la; x++) {
        for (int y = max(x - reach, 0); y < min(x + reach + 1, lb); y++) {
            if (!in_b[y] && b[y] == a[x]) {
                in_a[x] = in_b[y] = true;
                common++;
                break;
            }
        }
    }
    if (common == 0) {
        to[i] = 0.0f;
        return;
    }
    int moved = 0, y = 0;
    for (int x = 0; x < la; x++) {
        if (!in_a[x]) continue;
        while (!in_b[y]) y++;
        if (a[x] != b[y]) moved++;
        y++;
    }
    float m = common;
    float jaro = (m / la + m / lb + (m - moved / 2) / m) / 3.0f;
    int prefix = 0;
    while (prefix < min(4, min(la, lb)) && a[prefix] == b[prefix]) prefix++;
    to[i] = jaro + 0.1f * prefix * (1.0f - jaro);
}

// ADPCM

__device__ const short STEPS[89] = {
    7,     8,     9,     10,    11,    12,    13,    14,    16,    17,    19,    21,    23,
    25,    28,    31,    34,    37,    41,    45,    50,    55,    60,    66,    73,    80,
    88,    97,    107,   118,   130,   143,   157,   173,   190,   209,   230,   253,   279,
    307,   337,   371,   408,   449,   494,   544,   598,   658,   724,   796,   876,   963,
    1060,  1166,  1282,  1411,  1552,  1707,  1878,  2066,  2272,  2499,  2749,  3024,  3327,
    3660,  4026,  4428,  4871,  5358,  5894,  6484,  7132,  7845,  8630,  9493,  10442, 11487,
    12635, 13899, 15289, 16818, 18500, 20350, 22385, 24623, 27086, 29794, 32767};
__device__ const signed char CHANGES[8] = {-1, -1, -1, -1, 2, 4, 6, 8};

extern "C" __global__ void __launch_bounds__(128)
    adpcm(const uint8_t* __restrict__ bytes, short* __restrict__ to, int channels, int samples) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= channels) return;
    int sample = 0, index = 0;
    for (int t = 0; t < samples; t++) {
        int byte = bytes[t / 2 * channels + x];
        int nibble = t % 2 == 0 ? byte & 15 : byte >> 4;
        int step = STEPS[index];
        int difference = step >> 3;
        if (nibble & 4) difference += step;
        if (nibble & 2) difference += step >> 1;
        if (nibble & 1) difference += step >> 2;
        if (nibble & 8) difference = -difference;
        sample = min(max(sample + difference, -32768), 32767);
        index = min(max(index + CHANGES[nibble & 7], 0), 88);
        to[t * channels + x] = sample;
    }
}

// Connect four

__device__ __forceinline__ bool has_four(uint64_t stones) {
    const int shifts[4] = {1, 6, 7, 8};
    for (int k = 0; k < 4; k++) {
        uint64_t pairs = stones & stones >> shifts[k];
        if (pairs & pairs >> (2 * shifts[k])) return true;
    }
    return false;
}

extern "C" __global__ void __launch_bounds__(128)
    connect_four(int games, int* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint64_t state = (uint64_t)i * 0x9e3779b97f4a7c15ull | 1;
    int score = 0;
    for (int game = 0; game < games; game++) {
        uint64_t stones[2] = {0, 0};
        for (int move = 0; move < 42; move++) {
            uint64_t taken = stones[0] | stones[1];
            unsigned count = 0;
            for (int column = 0; column < 7; column++) count += !(taken >> (7 * column + 5) & 1);
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            uint64_t high = state * 0x2545f4914f6cdd1dull >> 32;
            int choice = (int)(high * count >> 32);
            int column = 0;
            for (;; column++) {
                if (taken >> (7 * column + 5) & 1) continue;
                if (choice-- == 0) break;
            }
            int player = move % 2;
            stones[player] |= (taken + (1ull << (7 * column))) & (0x3full << (7 * column));
            if (has_four(stones[player])) {
                score += player == 0 ? 1 : -1;
                break;
            }
        }
    }
    to[i] = score;
}

// Cloth

struct Mass {
    float3 position, velocity;
};

struct Spring {
    int dx, dy;
    float stiffness;
};

__constant__ Spring SPRINGS[12] = {
    {1, 0, 80.0f},  {-1, 0, 80.0f}, {0, 1, 80.0f},   {0, -1, 80.0f}, {1, 1, 40.0f}, {1, -1, 40.0f},
    {-1, 1, 40.0f}, {-1, -1, 40.0f}, {2, 0, 15.0f}, {-2, 0, 15.0f}, {0, 2, 15.0f}, {0, -2, 15.0f}};

extern "C" __global__ void __launch_bounds__(256)
    cloth_forces(float spacing, const Mass* __restrict__ masses, float3* __restrict__ to, int width,
                 int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    Mass here = masses[y * width + x];
    float3 force = make_float3(0.0f, -9.81f, 0.0f);
    for (int s = 0; s < 12; s++) {
        int dx = SPRINGS[s].dx, dy = SPRINGS[s].dy;
        int nx = x + dx, ny = y + dy;
        if (nx < 0 || nx >= width || ny < 0 || ny >= height) continue;
        Mass there = masses[ny * width + nx];
        float rest = spacing * sqrtf((float)(dx * dx + dy * dy));
        float3 between = there.position - here.position;
        float len = length(between);
        force = force + between * (SPRINGS[s].stiffness * (len - rest) / len);
        force = force + (there.velocity - here.velocity) * 0.3f;
    }
    to[y * width + x] = force;
}

// Clipped triangles

__device__ __forceinline__ float side_distance(int side, float2 p) {
    switch (side) {
    case 0: return p.x;
    case 1: return 1.0f - p.x;
    case 2: return p.y;
    default: return 1.0f - p.y;
    }
}

extern "C" __global__ void __launch_bounds__(128)
    clip_area(const float2* __restrict__ triangles, float* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float2 polygon[8], clipped[8];
    int len = 3;
    for (int c = 0; c < 3; c++) polygon[c] = triangles[3 * i + c];
    for (int side = 0; side < 4 && len > 0; side++) {
        int count = 0;
        for (int c = 0; c < len; c++) {
            float2 from = polygon[c == 0 ? len - 1 : c - 1], p = polygon[c];
            float a = side_distance(side, from), b = side_distance(side, p);
            if ((a >= 0.0f) != (b >= 0.0f)) {
                float t = a / (a - b);
                clipped[count++] =
                    make_float2(from.x + t * (p.x - from.x), from.y + t * (p.y - from.y));
            }
            if (b >= 0.0f) clipped[count++] = p;
        }
        len = count;
        for (int c = 0; c < len; c++) polygon[c] = clipped[c];
    }
    float area = 0.0f;
    for (int c = 0; c < len; c++) {
        float2 p = polygon[c == 0 ? len - 1 : c - 1], q = polygon[c];
        area += p.x * q.y - p.y * q.x;
    }
    to[i] = fabsf(area / 2.0f);
}

// Dormand and Prince

__device__ __forceinline__ void van_der_pol(double mu, const double y[2], double k[2]) {
    k[0] = y[1];
    k[1] = mu * (1.0 - y[0] * y[0]) * y[1] - y[0];
}

extern "C" __global__ void __launch_bounds__(128)
    dormand_prince(double end, double tolerance, const double* __restrict__ mus,
                   double2* __restrict__ states, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double mu = mus[i];
    double y[2] = {states[i].x, states[i].y}, s[2];
    double k1[2], k2[2], k3[2], k4[2], k5[2], k6[2], k7[2];
    double time = 0.0, h = 0.01;
    van_der_pol(mu, y, k1);
    while (time < end) {
        h = fmin(h, end - time);
        for (int d = 0; d < 2; d++) s[d] = y[d] + h * (0.2 * k1[d]);
        van_der_pol(mu, s, k2);
        for (int d = 0; d < 2; d++) s[d] = y[d] + h * (3.0 / 40 * k1[d] + 9.0 / 40 * k2[d]);
        van_der_pol(mu, s, k3);
        for (int d = 0; d < 2; d++)
            s[d] = y[d] + h * (44.0 / 45 * k1[d] - 56.0 / 15 * k2[d] + 32.0 / 9 * k3[d]);
        van_der_pol(mu, s, k4);
        for (int d = 0; d < 2; d++)
            s[d] = y[d] + h * (19372.0 / 6561 * k1[d] - 25360.0 / 2187 * k2[d] +
                               64448.0 / 6561 * k3[d] - 212.0 / 729 * k4[d]);
        van_der_pol(mu, s, k5);
        for (int d = 0; d < 2; d++)
            s[d] = y[d] + h * (9017.0 / 3168 * k1[d] - 355.0 / 33 * k2[d] + 46732.0 / 5247 * k3[d] +
                               49.0 / 176 * k4[d] - 5103.0 / 18656 * k5[d]);
        van_der_pol(mu, s, k6);
        for (int d = 0; d < 2; d++)
            s[d] = y[d] + h * (35.0 / 384 * k1[d] + 500.0 / 1113 * k3[d] + 125.0 / 192 * k4[d] -
                               2187.0 / 6784 * k5[d] + 11.0 / 84 * k6[d]);
        van_der_pol(mu, s, k7);
        double error = 0.0;
        for (int d = 0; d < 2; d++) {
            double e = h * (71.0 / 57600 * k1[d] - 71.0 / 16695 * k3[d] + 71.0 / 1920 * k4[d] -
                            17253.0 / 339200 * k5[d] + 22.0 / 525 * k6[d] - 1.0 / 40 * k7[d]);
            error = fmax(error, fabs(e));
        }
        if (error <= tolerance) {
            time += h;
            for (int d = 0; d < 2; d++) {
                y[d] = s[d];
                k1[d] = k7[d];
            }
        }
        double factor = 0.9 * pow(tolerance / fmax(error, 1e-16), 0.2);
        h *= fmin(fmax(factor, 0.2), 5.0);
    }
    states[i] = make_double2(y[0], y[1]);
}

// Torsions

struct Torsion {
    uint32_t atoms[4];
    float factor, phase;
    uint32_t multiplicity;
};

extern "C" __global__ void __launch_bounds__(256)
    torsion_energy(const float3* __restrict__ atoms, const Torsion* __restrict__ torsions,
                   float* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Torsion torsion = torsions[i];
    float3 a = atoms[torsion.atoms[0]], b = atoms[torsion.atoms[1]];
    float3 c = atoms[torsion.atoms[2]], d = atoms[torsion.atoms[3]];
    float3 first = b - a, axis = c - b, last = d - c;
    float3 m = cross(first, axis), k = cross(axis, last);
    float angle = atan2f(length(axis) * dot(first, k), dot(m, k));
    to[i] = torsion.factor * (1.0f + cosf(torsion.multiplicity * angle - torsion.phase));
}

// Moments of rows

struct Moments {
    float count, mean, squares, low, high;
};

extern "C" __global__ void __launch_bounds__(256)
    row_moments(int width, const float* __restrict__ matrix, Moments* __restrict__ to, int rows) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows) return;
    Moments m = {0.0f, 0.0f, 0.0f, CUDART_INF_F, -CUDART_INF_F};
    for (int x = lane; x < width; x += 32) {
        float value = matrix[row * width + x];
        m.count += 1.0f;
        float difference = value - m.mean;
        m.mean += difference / m.count;
        m.squares += difference * (value - m.mean);
        m.low = fminf(m.low, value);
        m.high = fmaxf(m.high, value);
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        float count = __shfl_xor_sync(0xffffffff, m.count, distance);
        float mean = __shfl_xor_sync(0xffffffff, m.mean, distance);
        float squares = __shfl_xor_sync(0xffffffff, m.squares, distance);
        float low = __shfl_xor_sync(0xffffffff, m.low, distance);
        float high = __shfl_xor_sync(0xffffffff, m.high, distance);
        float total = m.count + count;
        if (total != 0.0f) {
            float difference = mean - m.mean;
            float share = count / total;
            m.squares += squares + difference * difference * m.count * share;
            m.mean += difference * share;
            m.count = total;
            m.low = fminf(m.low, low);
            m.high = fmaxf(m.high, high);
        }
    }
    if (lane == 0) to[row] = m;
}

// Corners

extern "C" __global__ void __launch_bounds__(256)
    harris(const uint8_t* __restrict__ image, float* __restrict__ to, int width, int height) {
    __shared__ float tile[12][36];
    int x0 = blockIdx.x * 32, y0 = blockIdx.y * 8;
    for (int y = threadIdx.y; y < 12; y += 8)
        for (int x = threadIdx.x; x < 36; x += 32) {
            int ix = min(max(x0 + x - 2, 0), width - 1);
            int iy = min(max(y0 + y - 2, 0), height - 1);
            tile[y][x] = image[iy * width + ix];
        }
    __syncthreads();
    int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
    if (x >= width || y >= height) return;
    float xx = 0.0f, xy = 0.0f, yy = 0.0f;
    for (int j = 1; j < 4; j++)
        for (int i = 1; i < 4; i++) {
            int cx = threadIdx.x + i, cy = threadIdx.y + j;
            float dx = tile[cy][cx + 1] - tile[cy][cx - 1];
            float dy = tile[cy + 1][cx] - tile[cy - 1][cx];
            xx += dx * dx;
            xy += dx * dy;
            yy += dy * dy;
        }
    float trace = xx + yy;
    to[y * width + x] = xx * yy - xy * xy - 0.04f * trace * trace;
}

// Tone mapping

__constant__ uint8_t BAYER[4][4] = {{0, 8, 2, 10}, {12, 4, 14, 6}, {3, 11, 1, 9}, {15, 7, 13, 5}};

struct __align__(8) Light {
    __half r, g, b, alpha;
};

__device__ __forceinline__ float aces(float x) {
    return clampf((x * (2.51f * x + 0.03f)) / (x * (2.43f * x + 0.59f) + 0.14f), 0.0f, 1.0f);
}

__device__ __forceinline__ float srgb(float linear) {
    return linear <= 0.0031308f ? 12.92f * linear : 1.055f * powf(linear, 1.0f / 2.4f) - 0.055f;
}

__device__ __forceinline__ unsigned char to_byte(float x) {
    return (unsigned char)clampf(roundf(x), 0.0f, 255.0f);
}

extern "C" __global__ void __launch_bounds__(256)
    tone_map(float exposure, const Light* __restrict__ light, uchar4* __restrict__ to, int width,
             int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    Light p = light[y * width + x];
    float dither = (BAYER[y % 4][x % 4] + 0.5f) / 16.0f - 0.5f;
    to[y * width + x] =
        make_uchar4(to_byte(255.0f * srgb(aces(__half2float(p.r) * exposure)) + dither),
                    to_byte(255.0f * srgb(aces(__half2float(p.g) * exposure)) + dither),
                    to_byte(255.0f * srgb(aces(__half2float(p.b) * exposure)) + dither),
                    to_byte(255.0f * __half2float(p.alpha)));
}

// Curvature flow

extern "C" __global__ void __launch_bounds__(256)
    curvature3d(float dt, const float* __restrict__ volume, float* __restrict__ to, int width,
                int height, int depth) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= width || y >= height || z >= depth) return;
    int x0 = max(x - 1, 0), x1 = min(x + 1, width - 1);
    int y0 = max(y - 1, 0), y1 = min(y + 1, height - 1);
    int z0 = max(z - 1, 0), z1 = min(z + 1, depth - 1);
    auto at = [=](int x, int y, int z) { return volume[(z * height + y) * width + x]; };
    float c = at(x, y, z);
    float dx = (at(x1, y, z) - at(x0, y, z)) / 2.0f;
    float dy = (at(x, y1, z) - at(x, y0, z)) / 2.0f;
    float dz = (at(x, y, z1) - at(x, y, z0)) / 2.0f;
    float dxx = at(x1, y, z) - 2.0f * c + at(x0, y, z);
    float dyy = at(x, y1, z) - 2.0f * c + at(x, y0, z);
    float dzz = at(x, y, z1) - 2.0f * c + at(x, y, z0);
    float dxy = (at(x1, y1, z) - at(x0, y1, z) - at(x1, y0, z) + at(x0, y0, z)) / 4.0f;
    float dxz = (at(x1, y, z1) - at(x0, y, z1) - at(x1, y, z0) + at(x0, y, z0)) / 4.0f;
    float dyz = (at(x, y1, z1) - at(x, y0, z1) - at(x, y1, z0) + at(x, y0, z0)) / 4.0f;
    float xx = dx * dx, yy = dy * dy, zz = dz * dz;
    float flow = dxx * (yy + zz) + dyy * (xx + zz) + dzz * (xx + yy) -
                 2.0f * (dx * dy * dxy + dx * dz * dxz + dy * dz * dyz);
    to[(z * height + y) * width + x] = c + dt * flow / (xx + yy + zz + 1e-3f);
}

// Photons

struct Medium {
    float absorption, scattering, anisotropy, thickness;
};

__device__ __forceinline__ float next_random(uint32_t& state) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return ((state >> 8) + 1) / 16777216.0f;
}

extern "C" __global__ void __launch_bounds__(128)
    photon_slab(Medium medium, int photons, uint3* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float extinction = medium.absorption + medium.scattering, g = medium.anisotropy;
    uint3 counts = make_uint3(0, 0, 0);
    for (int photon = 0; photon < photons; photon++) {
        uint32_t x = i * photons + photon;
        x = (x ^ 61 ^ x >> 16) * 9;
        x = (x ^ x >> 4) * 0x27d4eb2d;
        uint32_t state = (x ^ x >> 15) | 1;
        float depth = 0.0f, direction = 1.0f;
        for (int k = 0; k < 1000; k++) {
            depth += direction * -logf(next_random(state)) / extinction;
            if (depth < 0.0f) {
                counts.x++;
                break;
            }
            if (depth > medium.thickness) {
                counts.y++;
                break;
            }
            if (next_random(state) * extinction < medium.absorption) {
                counts.z++;
                break;
            }
            float r = next_random(state), cosine;
            if (g == 0.0f) {
                cosine = 2.0f * r - 1.0f;
            } else {
                float f = (1.0f - g * g) / (1.0f - g + 2.0f * g * r);
                cosine = clampf((1.0f + g * g - f * f) / (2.0f * g), -1.0f, 1.0f);
            }
            float turn = cosf(6.2831853f * next_random(state));
            float sines =
                sqrtf(fmaxf((1.0f - cosine * cosine) * (1.0f - direction * direction), 0.0f));
            direction = clampf(direction * cosine + sines * turn, -1.0f, 1.0f);
        }
    }
    to[i] = counts;
}

// Energies of a probe

extern "C" __global__ void __launch_bounds__(256)
    probe_energy(float spacing, const float4* __restrict__ charges, int count,
                 float* __restrict__ to, int n) {
    __shared__ float4 tile[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float px = i % 64 * spacing, py = i / 64 % 64 * spacing, pz = i / 4096 * spacing;
    float energy = 0.0f;
    for (int start = 0; start < count; start += 256) {
        if (start + threadIdx.x < count) tile[threadIdx.x] = charges[start + threadIdx.x];
        __syncthreads();
        int end = min(count - start, 256);
        for (int k = 0; k < end; k++) {
            float4 c = tile[k];
            float dx = c.x - px, dy = c.y - py, dz = c.z - pz;
            float squared = dx * dx + dy * dy + dz * dz;
            if (squared > 36.0f) continue;
            float distance = sqrtf(fmaxf(squared, 0.01f));
            energy += c.w * expf(-0.3f * distance) / (4.0f * distance) -
                      0.5f * expf(-squared / 12.25f);
        }
        __syncthreads();
    }
    if (i < n) to[i] = energy;
}

// Inverse kinematics

#define JOINTS 6

struct Pose {
    float angles[JOINTS];
    float error;
    uint32_t steps;
};

extern "C" __global__ void __launch_bounds__(128)
    ik_arm(const float* __restrict__ lengths, int limit, const float2* __restrict__ targets,
           Pose* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float2 target = targets[i];
    Pose pose;
    for (int j = 0; j < JOINTS; j++) pose.angles[j] = 0.3f;
    pose.steps = 0;
    float2 p[JOINTS + 1];
    p[0] = make_float2(0.0f, 0.0f);
    do {
        for (int j = JOINTS - 1; j >= -1; j--) {
            float direction = 0.0f;
            for (int k = 0; k < JOINTS; k++) {
                direction += pose.angles[k];
                float s, c;
                sincosf(direction, &s, &c);
                p[k + 1] = make_float2(p[k].x + lengths[k] * c, p[k].y + lengths[k] * s);
            }
            if (j < 0) break;
            float ax = p[JOINTS].x - p[j].x, ay = p[JOINTS].y - p[j].y;
            float bx = target.x - p[j].x, by = target.y - p[j].y;
            pose.angles[j] += atan2f(ax * by - ay * bx, ax * bx + ay * by);
        }
        pose.error = hypotf(p[JOINTS].x - target.x, p[JOINTS].y - target.y);
        pose.steps++;
    } while (pose.error >= 1e-2f && pose.steps < limit);
    to[i] = pose;
}

// Loans

__device__ __forceinline__ long long monthly_interest(long long balance, long long rate) {
    return (balance * rate + 6000000) / 12000000;
}

extern "C" __global__ void __launch_bounds__(128)
    amortize(const long long* __restrict__ principals, const uint32_t* __restrict__ rates,
             const uint16_t* __restrict__ months, longlong2* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    long long principal = principals[i], rate = rates[i];
    int count = months[i];
    long long low = 0, high = principal + monthly_interest(principal, rate);
    while (low < high) {
        long long middle = (low + high) / 2, balance = principal;
        for (int m = 0; m < count; m++)
            balance = max(balance + monthly_interest(balance, rate) - middle, 0ll);
        if (balance == 0)
            high = middle;
        else
            low = middle + 1;
    }
    long long balance = principal, sum = 0;
    for (int m = 0; m < count; m++) {
        long long interest = monthly_interest(balance, rate);
        balance = max(balance + interest - high, 0ll);
        sum += interest;
    }
    to[i] = make_longlong2(high, sum);
}

// Trimmed reads

struct Trimmed {
    uint16_t start, end;
    float first, second;
};

__device__ __forceinline__ bool is_good(const uint8_t* window) {
    int sum = 0;
    for (int k = 0; k < 5; k++) sum += window[k] - '!';
    return sum >= 100;
}

extern "C" __global__ void __launch_bounds__(128)
    quality_trim(const float* __restrict__ errors, const uint8_t* __restrict__ qualities,
                 int length, Trimmed* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const uint8_t* quality = qualities + i * length;
    int windows = length - 4, start = 0, cut = 0;
    while (start < windows && !is_good(quality + start)) start++;
    while (cut < windows && !is_good(quality + windows - 1 - cut)) cut++;
    Trimmed trimmed = {0, 0, 0.0f, 0.0f};
    int end = length - cut;
    if (start < windows && end - start >= 20) {
        int middle = start + (end - start) / 2;
        for (int k = start; k < middle; k++) trimmed.first += errors[quality[k] - '!'];
        for (int k = middle; k < end; k++) trimmed.second += errors[quality[k] - '!'];
        trimmed.start = start;
        trimmed.end = end;
    }
    to[i] = trimmed;
}

// Dictionary

#define PART 128
#define BEFORE 15

extern "C" __global__ void __launch_bounds__(128)
    dictionary(const uint16_t* __restrict__ next, const uint8_t* __restrict__ words,
               const char* __restrict__ text, int length, uint32_t* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int start = i * PART, end = min(start + PART, length);
    int state = 0;
    uint32_t count = 0;
    for (int at = max(start - BEFORE, 0); at < end; at++) {
        unsigned c = text[at];
        int letter = c >= 'a' && c <= 'z' ? c - 'a' : c >= 'A' && c <= 'Z' ? c - 'A' : 26;
        state = next[state * 27 + letter];
        if (at >= start) count += words[state];
    }
    to[i] = count;
}
